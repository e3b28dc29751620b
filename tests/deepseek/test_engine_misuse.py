"""What a caller gets wrong is told to that caller, and to nobody else."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from deepseek.engine import Engine, Request, RequestError
from deepseek.pipeline import executor
from deepseek.sizes import Sizes
from deepseek.steps import Sampling
from graph import Runtime, compile, load
from graph.errors import BindError
from tests.deepseek.tiny import VOCABULARY, tiny_model

SIZES = Sizes(VOCABULARY, context=64, batch=4, capacity=4, rows=2, packed=2, chunk=8, page=16)
GOOD = Request((1, 2, 3), 5)
WRONG: dict[str, Any] = {
    "no sampling": Request((1, 2), 4, sampling=None),  # type: ignore[arg-type]
    "sampling of another type": Request((1, 2), 4, sampling="x"),  # type: ignore[arg-type]
    "temperature that is text": Request((1, 2), 4, Sampling("x")),  # type: ignore[arg-type]
    "top_p that is none": Request((1, 2), 4, Sampling(0.5, None)),  # type: ignore[arg-type]
    "stop that is a string": Request((1, 2), 4, stop="abc"),  # type: ignore[arg-type]
    "stop of numbers": Request((1, 2), 4, stop=(5,)),  # type: ignore[arg-type]
    "no stop ids": Request((1, 2), 4, stop_ids=None),  # type: ignore[arg-type]
    "stop ids of text": Request((1, 2), 4, stop_ids=frozenset({"a"})),  # type: ignore[arg-type]
    "prompt that is text": Request("abc", 4),  # type: ignore[arg-type]
    "no prompt": Request(None, 4),  # type: ignore[arg-type]
    "no request": None,
}

network = cache(tiny_model)


def a_run() -> Runtime:
    return Runtime(compile(load("pingpong")), executor(network(), SIZES), threads=1)


@pytest.mark.parametrize("wrong", WRONG.values(), ids=list(WRONG))
def test_a_wrongly_typed_request_gets_its_error_and_the_others_run(wrong: Any) -> None:
    """It used to raise out of `events`, and the requests that came with it were lost."""
    with a_run() as run, Engine(run, SIZES) as engine:
        for name, request in (("before", GOOD), ("wrong", wrong), ("after", GOOD)):
            engine.add(request, name)
        finishes = {event.request: event for event in engine.events() if event.finish}
    assert {name: event.finish for name, event in finishes.items()} == {
        "before": "length",
        "wrong": "error",
        "after": "length",
    }
    error = finishes["wrong"].error
    assert error is not None
    assert isinstance(error.__cause__, RequestError)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"page": 32, "pages": 0}, "page=32, the run 16"),
        ({"rows": 1}, "rows=1, the run 2"),
        ({"chunk": 9}, "room for 8"),
        ({"batch": 5}, "room for 4"),
        ({"packed": 3}, "room for 2"),
        ({"context": 65, "pages": 0}, "blocks=5, and the run has room for 4"),
    ],
    ids=str,
)
def test_sizes_that_the_run_was_not_made_for_are_refused(changed: dict[str, int], message: str) -> None:
    """They used to be taken, and tokens came out wrong."""
    with a_run() as run, pytest.raises(BindError, match=message):
        Engine(run, replace(SIZES, **changed))


def test_a_run_has_one_engine_at_a_time() -> None:
    with a_run() as run:
        with Engine(run, SIZES) as engine:
            with pytest.raises(BindError, match="has an engine already"):
                Engine(run, SIZES)
            first = [event.token for event in engine.generate([GOOD])]
        with Engine(run, SIZES) as engine:
            assert [event.token for event in engine.generate([GOOD])] == first


def test_generate_refuses_at_once_and_runs_none() -> None:
    with a_run() as run, Engine(run, SIZES) as engine:
        with pytest.raises(RequestError, match="prompt is empty"):
            engine.generate([GOOD, Request((), 1)])
        engine.add(GOOD, "1")
        with pytest.raises(RequestError, match="`1` is in use"):
            engine.generate([GOOD, GOOD])
        finishes = {event.request: event.finish for event in engine.events() if event.finish}
    assert finishes == {"0": "abort", "1": "length"}


@pytest.mark.parametrize("temperature", [1e-46, 1e-45, 1e-40, 1e-38, 3e-38, 1e-30, 1e-9])
def test_the_smallest_temperatures_are_as_good_as_greedy(temperature: float) -> None:
    """Logits divided by them used to be infinite, and the tokens 0."""
    with a_run() as run, Engine(run, SIZES) as engine:
        greedy = [event.token for event in engine.generate([GOOD])]
        cold = [event.token for event in engine.generate([replace(GOOD, sampling=Sampling(temperature))])]
    assert cold == greedy
