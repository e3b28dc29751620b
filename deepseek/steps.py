"""What the engine submits, one class per route, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Row(NamedTuple):
    """A request's row of device state and the generation under which it was reserved."""

    row: int
    generation: int


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn. Temperature 0 is greedy; the seed is the request's own, so batching changes nothing."""

    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0


GREEDY = Sampling()


class Place(NamedTuple):
    """One request in a decode step; `position` is that of the token the step reads."""

    row: Row
    position: int
    sampling: Sampling


@dataclass(frozen=True)
class Decode:
    """One token for each request of the batch; at most `batch` places."""

    places: tuple[Place, ...]


@dataclass(frozen=True)
class Prefill:
    """A chunk of one request's prompt: `tokens` stand at `position` and after; `last` ends the prompt."""

    row: Row
    tokens: tuple[int, ...]
    position: int
    last: bool
    sampling: Sampling


@dataclass(frozen=True)
class Retire:
    """Requests that are over: their rows take nothing more; at most `batch` of them."""

    rows: tuple[Row, ...]


class Sampled(NamedTuple):
    """One token of one request, as a step's result has it."""

    row: Row
    token: int
