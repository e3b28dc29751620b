"""Which steps are planned, in which order: on a scheduler alone, so that every moment can be looked at."""

import random
from dataclasses import replace

import pytest

from deepseek.engine import Request
from deepseek.sizes import Sizes
from deepseek.steps import Batch, Chunk, Retire
from tests.deepseek.planning import Planning, some_requests
from tests.deepseek.scripted import expected

SIZES = Sizes(50, 64, batch=2, capacity=3, rows=2, packed=2, chunk=4, page=4)


def prompt(length: int, first: int = 1) -> tuple[int, ...]:
    return tuple((first + place) % 50 for place in range(length))


def routes(planning: Planning, count: int) -> list[str]:
    """Routes of the next `count` steps, each taken at once."""
    found = []
    for _ in range(count):
        plan = planning.plan()
        assert plan is not None
        found.append(plan.route)
        planning.take()
    return found


def test_prompts_go_in_chunks_and_the_last_one_says_so() -> None:
    planning = Planning(replace(SIZES, packed=1))
    planning.add(Request(prompt(10), 4))
    chunks: list[Chunk] = []
    while (plan := planning.plan()) is not None:
        assert isinstance(plan.command, Batch)
        chunks += plan.command.chunks
    assert [(c.position, len(c.tokens), c.following) for c in chunks] == [(0, 4, 5), (4, 4, 9), (8, 2, None)]
    assert [len(c.pages) for c in chunks] == [1, 2, 3]


def test_chunks_of_several_requests_are_packed_into_one_step() -> None:
    planning = Planning(SIZES)
    for length in (6, 3, 5):
        planning.add(Request(prompt(length), 4))
    packed = []
    while (plan := planning.plan()) is not None:
        packed.append([stay.entry.id for stay in plan.chunks])
    assert packed == [["0", "1"], ["0", "2"], ["2"]]


def test_no_decode_step_is_planned_before_the_prompt_is_confirmed() -> None:
    planning = Planning(SIZES)
    planning.add(Request(prompt(3), 9))
    assert planning.plan() is not None
    assert planning.plan() is None
    planning.take()
    plan = planning.plan()
    assert plan is not None
    assert plan.route == "decode"


def test_no_more_steps_are_in_flight_than_can_surely_be_needed() -> None:
    planning = Planning(SIZES)
    planning.add(Request(prompt(3), 4))
    planning.plan()
    planning.take()
    assert [planning.plan() is not None for _ in range(4)] == [True, True, True, False]


def test_prompts_and_tokens_share_a_step_where_there_is_a_route_for_it() -> None:
    planning = Planning(SIZES)
    planning.add(Request(prompt(3), 20))
    assert routes(planning, 2) == ["prefill", "decode"]
    planning.add(Request(prompt(7), 20))
    assert routes(planning, 3) == ["mixed", "mixed", "decode"]


def test_without_that_route_prompts_and_tokens_take_turns() -> None:
    planning = Planning(SIZES, mixes=False)
    planning.add(Request(prompt(3), 40))
    assert routes(planning, 2) == ["prefill", "decode"]
    planning.add(Request(prompt(15), 20))
    assert routes(planning, 8) == ["prefill", "decode"] * 4


def test_with_more_requests_than_places_who_has_waited_longest_goes_first() -> None:
    planning = Planning(replace(SIZES, rows=1, packed=3))
    for _ in range(3):
        planning.add(Request(prompt(3), 20))
    planning.plan()
    planning.take()
    places = []
    for _ in range(6):
        plan = planning.plan()
        assert plan is not None
        places.append({stay.entry.id for stay in plan.places})
        planning.take()
    assert places == [{"0", "1"}, {"2", "0"}, {"1", "2"}] * 2


def test_a_newcomer_does_not_keep_old_requests_waiting() -> None:
    """Those with the fewest tokens used to go first, so that a stream of short requests starved a long one."""
    planning = Planning(replace(SIZES, batch=1, rows=1))
    old = planning.add(Request(prompt(2), 40))
    for _ in range(12):
        planning.plan()
        planning.take()
    planning.add(Request(prompt(2), 40))
    before = len(old.tokens)
    for _ in range(9):
        planning.plan()
        planning.take()
    assert len(old.tokens) >= before + 4


def test_a_row_is_retired_behind_its_last_step_and_free_once_that_is_through() -> None:
    planning = Planning(replace(SIZES, capacity=1))
    first = planning.add(Request(prompt(3), 9))
    planning.plan()
    planning.take()
    planning.plan()
    planning.add(Request(prompt(5), 3))
    planning.over(first)
    retire = planning.plan()
    assert retire is not None
    assert isinstance(retire.command, Retire)
    assert planning.plan() is None
    planning.take()
    assert planning.plan() is None
    planning.take()
    after = planning.plan()
    assert after is not None
    assert after.chunks[0].row.generation == 2


def test_a_step_in_flight_keeps_the_pages_that_a_request_turned_out_not_to_need() -> None:
    sizes = Sizes(50, 64, batch=1, capacity=2, rows=4, packed=1, chunk=4, page=1, pages=20)
    planning = Planning(sizes)
    planning.device.commits = lambda seed, position: 1  # type: ignore[method-assign]
    old, young = planning.add(Request(prompt(1), 12)), planning.add(Request(prompt(1), 12))
    while not (old.stay and young.stay and old.stay.confirmed and young.stay.confirmed):
        if planning.plan() is None:
            planning.take()
    planning.run(depth=3)
    assert old.tokens == expected(old.request, 50)
    assert young.tokens == expected(young.request, 50)


def test_the_youngest_gives_way_where_pages_run_out() -> None:
    sizes = Sizes(50, 64, batch=2, capacity=2, rows=1, packed=2, chunk=8, page=1, pages=14)
    planning = Planning(sizes)
    old, young = planning.add(Request(prompt(4), 10)), planning.add(Request(prompt(4), 10))
    planning.run(depth=1)
    assert planning.stats.preemptions > 0
    assert old.tokens == expected(old.request, 50)
    assert young.tokens == expected(young.request, 50)
    assert planning.scheduler.pages_taken == ()


@pytest.mark.parametrize("seed", range(60))
def test_whatever_the_sizes_all_get_their_tokens_and_nothing_is_left(seed: int) -> None:
    print(f"seed {seed}")
    source = random.Random(seed)
    sizes = Sizes(
        50,
        source.randint(8, 40),
        batch=source.randint(1, 4),
        capacity=source.randint(1, 6),
        rows=source.randint(1, 4),
        packed=source.randint(1, 3),
        chunk=source.randint(1, 9),
        page=source.randint(1, 8),
        pages=source.randint(3, 16),
    )
    planning = Planning(sizes, mixes=source.random() < 0.5)
    requests = some_requests(source, sizes, 25)
    depth = source.randint(1, 5)
    aborted = set()
    for request in requests:
        planning.add(request)
        for _ in range(source.randint(0, 6)):
            while len(planning.in_flight) < depth and planning.plan() is not None:
                pass
            if planning.in_flight:
                planning.take()
            victim = source.choice(planning.entries)
            if source.random() < 0.05 and not victim.over:
                planning.over(victim)
                aborted.add(victim.number)
    planning.run(depth)
    for entry, request in zip(planning.entries, requests, strict=True):
        whole = expected(request, sizes.vocab_size)
        assert entry.over
        assert entry.tokens == (whole[: len(entry.tokens)] if entry.number in aborted else whole)
    assert planning.scheduler.pages_taken == ()
    assert planning.rows.taken == 0
