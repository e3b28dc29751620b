"""Ray compiled graph

An actor, and so a process, for each body; the graph is compiled once and holds as many steps as there are slots.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import Any

import ray
from ray.dag import InputNode

from benchmarks.work import Body, Call, Calls, Work, timed


class Stage:
    """Calls one body; it keeps the calls until the run is over."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.kept: list[Call] = []

    def step(self, number: int) -> int:
        timed(self.body, self.kept)
        return number

    def calls(self) -> list[Call]:
        return self.kept


def run(work: Work) -> Calls:
    ray.init(include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
    try:
        return _run(work)
    finally:
        ray.shutdown()


def _run(work: Work) -> Calls:
    actor: Any = ray.remote(num_cpus=0)(Stage)
    stages: list[Any] = [actor.remote(body) for body in (work.prepare, work.device, work.reclaim)]
    with InputNode() as node:
        for stage in stages:
            node = stage.step.bind(node)
    graph = node.experimental_compile(_max_inflight_executions=work.slots)
    under_way: deque[Any] = deque()
    for step in range(work.steps):
        if len(under_way) == work.slots:
            under_way.popleft().get()
        under_way.append(graph.execute(step))
    for reference in under_way:
        reference.get()
    graph.teardown()
    return Calls(*(ray.get(stage.calls.remote()) for stage in stages))
