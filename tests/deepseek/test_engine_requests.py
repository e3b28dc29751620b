"""What can be asked of an engine, and how it says no."""

import threading
from dataclasses import replace

import pytest

from deepseek.engine import Event, Request, RequestError
from deepseek.sizes import Sizes
from deepseek.steps import Sampling
from deepseek.tokenizer import ByteTokenizer
from graph import BindError, Runtime, StepError
from graph.errors import RuntimeStopped
from tests.deepseek.scripted import Scripted, expected, told
from tests.fakes import HANG_S, chain, probed

SIZES = Sizes(50, 64, batch=4, capacity=4, rows=2, packed=2, chunk=4, page=4, pages=10)
GOOD = Request((5, 6, 7), 6)
MALFORMED = [
    (Request((), 4), "the prompt is empty: give at least one token"),
    (Request((1, 50), 4), "token 50 at place 1 of the prompt is not .* give ids from 0 to 49"),
    (Request((-1,), 4), "token -1 at place 0"),
    (Request((1, "a"), 4), "token 'a' at place 1"),  # type: ignore[arg-type]
    (Request((5,), 0), "0 tokens are asked for: ask for at least one"),
    (Request((5,) * 60, 5), "do not fit the context of 64: shorten one of them, or raise the context"),
    (Request((5,) * 40, 2), "do not fit 10 pages of 4 positions: .* give 11 pages"),
    (Request((5,), 4, Sampling(temperature=-1.0)), "temperature -1.0: it is 0"),
    (Request((5,), 4, Sampling(temperature=float("nan"))), "temperature nan"),
    (Request((5,), 4, Sampling(top_p=0.0)), "top_p 0.0: it is above 0"),
    (Request((5,), 4, Sampling(seed=1 << 63)), "whole number of 64 bits"),
    (Request((5,), 4, stop=("x",)), "stop strings need a tokenizer"),
    (Request((5,), 4, stop=("x", "")), "stop string 1 is empty"),
]


@pytest.mark.parametrize(("request_", "message"), MALFORMED)
def test_a_request_that_cannot_be_run_gets_its_error_and_disturbs_nobody(
    request_: Request, message: str
) -> None:
    with Scripted(SIZES).engine() as engine:
        with pytest.raises(RequestError, match=message):
            engine.check(request_)
        for id, request in (("a", GOOD), ("bad", request_), ("b", GOOD)):
            engine.add(request, id)
        found = told(engine.events())
    assert found["a"].tokens == found["b"].tokens == expected(GOOD, 50)
    error = found["bad"].error
    assert isinstance(error, StepError)
    assert error.node == "prepare_prefill"
    assert isinstance(error.cause, RequestError)
    assert found["bad"].finish == "error"


def test_generate_refuses_before_it_starts() -> None:
    with Scripted(SIZES).engine() as engine:
        with pytest.raises(RequestError, match="the prompt is empty"):
            list(engine.generate([GOOD, Request((), 4)]))
        assert list(engine.events()) == []


@pytest.mark.parametrize("topology", ["sync", "pingpong", "overlap", "deep", "latebind"])
@pytest.mark.parametrize("packed", [1, 3])
def test_errors_come_in_order(topology: str, packed: int) -> None:
    bad = Request((), 4)
    long = replace(GOOD, prompt=(3,) * 11)
    with Scripted(replace(SIZES, packed=packed), topology).engine() as engine:
        for id, request in (
            ("a", long),
            ("bad", bad),
            ("b", GOOD),
            ("worse", bad),
            ("worst", bad),
            ("c", long),
        ):
            engine.add(request, id)
        events = list(engine.events())
    order = list(dict.fromkeys(event.request for event in events))
    assert order == ["a", "bad", "b", "worse", "worst", "c"]


def test_one_that_cannot_be_run_can_be_aborted_like_any_other() -> None:
    with Scripted(SIZES).engine() as engine:
        engine.add(GOOD, "a")
        engine.add(Request((), 4), "bad")
        assert engine.abort("bad")
        found = told(engine.events())
    assert found["bad"].finish == "abort"
    assert found["a"].finish == "length"


def test_an_id_in_use_is_refused_until_its_last_event_is_taken() -> None:
    script = Scripted(SIZES)
    script.device.commits = lambda seed, position: 2  # type: ignore[method-assign]
    request = replace(GOOD, max_tokens=7)  # its last two tokens come in one step
    with script.engine() as engine:
        engine.add(request, "a")
        for event in engine.events():
            if event.finish is not None:
                engine.add(GOOD, "a")
                break
            with pytest.raises(RequestError, match="`a` is in use: choose another"):
                engine.add(GOOD, "a")
        assert told(engine.events())["a"].tokens == expected(GOOD, 50)


def test_fresh_ids_avoid_those_that_callers_chose() -> None:
    with Scripted(SIZES).engine() as engine:
        chosen = [engine.add(GOOD, "request-1"), engine.add(GOOD), engine.add(GOOD)]
        assert len(set(chosen)) == 3
        assert set(told(engine.events())) == set(chosen)


def test_a_closed_engine_takes_no_more() -> None:
    with Scripted(SIZES).engine() as engine:
        engine.add(GOOD, "a")
        engine.close()
        with pytest.raises(RuntimeStopped, match="closed"):
            engine.add(GOOD)
        assert [(event.request, event.finish) for event in engine.events()] == [("a", "abort")]


def test_a_topology_without_request_rows_is_refused() -> None:
    plain = probed(chain(["a", "b"]))
    with Runtime(plain.program, plain.executor) as run:
        from deepseek.engine import Engine

        with pytest.raises(BindError, match="keeps no request-keyed rows"):
            Engine(run, SIZES)


def test_requests_come_and_go_from_many_threads() -> None:
    with Scripted(replace(SIZES, pages=40)).engine(ByteTokenizer()) as engine:
        kept: list[str] = []
        aborted: list[str] = []

        def caller(number: int) -> None:
            for count in range(25):
                id = engine.add(Request((number, count % 50), 8), f"{number}.{count}")
                if count % 5 == 0 and engine.abort(id):
                    aborted.append(id)
                else:
                    kept.append(id)

        threads = [threading.Thread(target=caller, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        events: list[Event] = []
        while any(thread.is_alive() for thread in threads):
            events += engine.events()
        for thread in threads:
            thread.join(HANG_S)
        events += engine.events()
        found = told(events)
    assert set(found) == {*kept, *aborted}
    for id in kept:
        number, count = map(int, id.split("."))
        assert found[id].tokens == expected(Request((number, count % 50), 8), 50)
