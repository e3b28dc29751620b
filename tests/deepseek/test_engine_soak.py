"""Ten thousand requests, with aborts at any moment: each gets its tokens, and nothing is left or grows."""

import gc
import random
from collections import Counter

import pytest

from deepseek.engine import Engine, Event, Request
from deepseek.sizes import Sizes
from deepseek.steps import Sampling
from deepseek.tenancy import Entry, Tenancy
from tests.deepseek.scripted import POISON, Scripted, expected, rule
from tests.fakes import until

REQUESTS = 10_000
OPEN = 24
"""Requests that are open at one time."""
SIZES = Sizes(60, 32, batch=4, capacity=6, rows=3, packed=3, chunk=6, page=4, pages=14)


class Traffic:
    """Keeps `OPEN` requests open, aborts some, and checks each token when it comes."""

    def __init__(self, engine: Engine, seed: int) -> None:
        self.engine, self.source = engine, random.Random(seed)
        self.open: dict[str, tuple[Request, list[int]]] = {}
        self.added = 0
        self.finishes: Counter[str] = Counter()

    def fill(self) -> None:
        while self.added < REQUESTS and len(self.open) < OPEN:
            prompt = tuple(self.source.randrange(60) for _ in range(self.source.randint(1, 14)))
            stops = frozenset({self.source.randrange(60)}) if self.source.random() < 0.3 else frozenset()
            request = Request(prompt, self.source.randint(1, 10), Sampling(seed=self.added), stops)
            if self.source.random() < 0.02:
                request = Request((), 1)
            id = next(
                name for name in map(str, range(OPEN)) if name not in self.open
            )  # ids come again and again
            self.engine.add(request, id)
            self.open[id] = request, []
            self.added += 1
            if self.source.random() < 0.02:
                self.engine.abort(id)

    def take(self, event: Event) -> None:
        request, tokens = self.open[event.request]
        if event.token is not None:
            tokens.append(event.token)
            position, previous = len(request.prompt) + len(tokens) - 1, [*request.prompt, *tokens][-2]
            assert event.token == rule(previous, position, request.sampling.seed, 60) != POISON
        if event.finish is not None:
            self.finishes[event.finish] += 1
            if event.finish in ("stop", "length"):
                assert tokens == expected(request, 60)
            assert (event.finish == "error") == (request.prompt == () and event.finish != "abort")
            del self.open[event.request]
        if self.open and self.source.random() < 0.01:
            self.engine.abort(self.source.choice(sorted(self.open)))


@pytest.mark.timeout(120)
@pytest.mark.parametrize("topology", ["pingpong"])
def test_ten_thousand_requests_leave_nothing(topology: str) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    script = Scripted(SIZES, topology)
    script.logs = False
    kept: list[int] = []
    with script.engine(record=False) as engine:
        traffic = Traffic(engine, seed)
        traffic.fill()
        while traffic.open:
            for event in engine.events():
                traffic.take(event)
                traffic.fill()
                if event.finish is not None and traffic.finishes.total() in (
                    REQUESTS // 10,
                    REQUESTS * 9 // 10,
                ):
                    kept.append(_objects())
        assert traffic.added == traffic.finishes.total() == engine.stats.requests.total() == REQUESTS
        assert min(traffic.finishes[finish] for finish in ("stop", "length", "abort", "error")) > 50
        assert engine.stats.preemptions > 0
        engine.check_integrity()
        until(lambda: _live(Entry) == _live(Tenancy) == 0, "the lanes have let go of the last step")
    print(f"{traffic.finishes} {engine.stats} objects at 10% and 90% of requests: {kept}")
    early, late = kept
    assert late < early + 500  # each request would leave one at least


def _objects() -> int:
    gc.collect()
    return len(gc.get_objects())


def _live(kind: type) -> int:
    gc.collect()
    return sum(type(one) is kind for one in gc.get_objects())
