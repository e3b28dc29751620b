"""Lanes in processes of their own decode what threads decode, and only those with the model load it."""

from __future__ import annotations

import pytest

from deepseek.engine import Engine, Request
from deepseek.pipeline import SIZES, pipeline
from graph import Runtime, compile, load
from graph.node import Executor

PROMPTS = ((5, 6, 7, 8), tuple(range(20, 90)), (3,), (9, 4), (11, 12, 13))


def decoded(topology: str, *lanes: str) -> tuple[dict[str, list[int]], Executor]:
    """What each request gets; five of them on four rows, so that rows are used again."""
    source = load(topology, [f"lanes.{lane}.worker=process" for lane in lanes])
    tokens: dict[str, list[int]] = {}
    here = pipeline()
    with Runtime(compile(source), here, checked=True, threads=1) as run, Engine(run, SIZES) as engine:
        for event in engine.generate([Request(prompt, 12) for prompt in PROMPTS]):
            assert event.error is None
            if event.token is not None:
                tokens.setdefault(event.request, []).append(event.token)
    return tokens, here


def made(executor: Executor) -> list[str]:
    """The nodes with the model that were made in this process."""
    return [name for name, node in executor.nodes.items() if getattr(node, "_node", None) is not None]


@pytest.mark.parametrize(
    ("topology", "lanes"),
    [
        ("pingpong", ("host",)),
        pytest.param("pingpong", ("device",), marks=pytest.mark.slow),
        pytest.param("latebind", ("host", "output"), marks=pytest.mark.slow),
        pytest.param("overlap", ("host", "device"), marks=pytest.mark.slow),
    ],
)
def test_processes_decode_what_threads_decode(topology: str, lanes: tuple[str, ...]) -> None:
    expected, _ = decoded(topology)
    tokens, here = decoded(topology, *lanes)
    assert tokens == expected
    assert made(here) == ([] if "device" in lanes else ["dispatch", "prefill"])
