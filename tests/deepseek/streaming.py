"""Requests decoded by the tiny network, whatever lanes, queues and nodes its steps go over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from deepseek.engine import Engine, Request
from deepseek.model import Model
from deepseek.pipeline import executor
from deepseek.sizes import Sizes
from deepseek.steps import Sampling
from graph import Runtime
from graph.node import Node
from tests.deepseek.scripted import Told, program, told
from tests.deepseek.tiny import VOCABULARY, tiny_model

PROMPTS = (
    (1, 2, 3),
    tuple(number % VOCABULARY for number in range(1, 24)),
    (5,),
    (7, 2),
    (4, 4, 6),
    (3,) * 9,
)
"""More than the rows, and one in several chunks, so that prompts start while others are being decoded."""
REQUESTS = [
    Request(prompt, 6 + 3 * (number % 3), Sampling(0.8 * (number % 2), 0.9, number))
    for number, prompt in enumerate(PROMPTS)
]

model = cache(tiny_model)


def sizes(rows: int = 2) -> Sizes:
    return Sizes(VOCABULARY, context=48, batch=4, capacity=4, rows=rows, packed=2, chunk=8, page=8)


class Decoding:
    """One run over a shipped topology, and what it gave."""

    def __init__(
        self,
        topology: str,
        *overrides: str,
        rows: int = 2,
        network: Model | None = None,
        nodes: Mapping[str, Node] | None = None,
        requests: list[Request] = REQUESTS,
        **options: Any,
    ) -> None:
        asked = sizes(rows)
        pipeline = executor(network or model(), asked)
        pipeline = replace(pipeline, nodes={**pipeline.nodes, **(nodes or {})})
        options = {"threads": 1, "switch_interval_ms": None, **options}
        with Runtime(program(topology, *overrides), pipeline, **options) as self.run:
            with Engine(self.run, asked) as engine:
                self.told: dict[str, Told] = told(engine.generate(requests))
            self.stats = engine.stats
        assert self.run.held_slots() == []

    @property
    def tokens(self) -> list[list[int]]:
        """Of each request; every one must have come to its end."""
        assert {one.finish for one in self.told.values()} == {"length"}, self.told
        return [self.told[str(number)].tokens for number in range(len(self.told))]


@cache
def expected(rows: int = 2) -> tuple[tuple[int, ...], ...]:
    """What `pingpong` gives."""
    return tuple(map(tuple, Decoding("pingpong", rows=rows).tokens))
