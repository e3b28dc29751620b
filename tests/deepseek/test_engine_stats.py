"""What an engine counts."""

from dataclasses import replace

from deepseek.engine import Request, Stats
from deepseek.sizes import Sizes
from tests.deepseek.scripted import Scripted

SIZES = Sizes(50, 64, batch=2, capacity=2, rows=2, packed=2, chunk=8, page=4)


def run(sizes: Sizes, *requests: Request) -> Stats:
    script = Scripted(sizes)
    with script.engine() as engine:
        list(engine.generate(requests))
    return engine.stats


def test_requests_steps_and_tokens_are_counted() -> None:
    stats = run(SIZES, Request((5, 6), 9), Request((7,) * 20, 5))
    assert stats.requests == {"length": 2}
    assert stats.tokens == 14
    assert stats.steps["prefill"] + stats.steps["mixed"] == 3
    assert stats.steps["retire"] in (1, 2)
    assert 0 < stats.pages_most <= 5 + 7
    names = [name for name, _ in stats.summary()]
    assert names[:3] == ["requests", "steps by route", "tokens"]
    assert dict(stats.summary())["requests"] == "2 length"


def test_drafts_that_were_right_are_counted_against_all() -> None:
    script = Scripted(SIZES)
    script.device.commits = lambda seed, position: 1 + position % 3 % 2  # type: ignore[method-assign]
    with script.engine() as engine:
        list(engine.generate([Request((1,), 41)]))
    stats = engine.stats
    assert stats.drafts == stats.places
    assert stats.accepted == stats.committed - stats.places
    assert stats.acceptance == stats.accepted / stats.drafts
    assert stats.tokens_per_step == 1 + stats.acceptance
    assert 0.4 < stats.acceptance < 1


def test_without_drafts_a_step_gives_one_token_and_there_is_no_rate() -> None:
    stats = run(replace(SIZES, rows=1), Request((5, 6), 9))
    assert (stats.places, stats.committed, stats.drafts) == (8, 8, 0)
    assert stats.acceptance is None
    assert stats.tokens_per_step == 1
    assert "drafts accepted" not in dict(stats.summary())


def test_nothing_done_is_told_as_that() -> None:
    assert Stats().summary() == [
        ("requests", "none"),
        ("steps by route", "none"),
        ("tokens", "0"),
        ("pages in use at most", "0"),
    ]
