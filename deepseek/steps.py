"""What the engine submits, one class per route's need, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, NoReturn


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
    """One request in a decode step. Where it stands and what it reads next only the device knows."""

    row: Row
    pages: tuple[int, ...]
    """Page of each block of positions, as far as the step may come."""


class Chunk(NamedTuple):
    """Part of a request's prompt: `tokens` stand at `position` and after. The chunk at position 0 opens the row."""

    row: Row
    tokens: tuple[int, ...]
    position: int
    following: int | None
    """The prompt's next token; None where the prompt ends here, so that the first new token is drawn."""
    sampling: Sampling
    pages: tuple[int, ...]
    """Page of each block of positions, as far as this chunk comes."""


@dataclass(frozen=True)
class Batch:
    """A step of route `decode` (places alone), `prefill` (chunks alone) or `mixed` (both, of different requests)."""

    places: tuple[Place, ...] = ()
    """At most `batch` requests, each of which commits 1 to `rows` tokens."""
    chunks: tuple[Chunk, ...] = ()
    """At most `packed` chunks of at most `chunk` tokens."""

    @property
    def route(self) -> str:
        if not self.chunks:
            return "decode"
        return "mixed" if self.places else "prefill"


@dataclass(frozen=True)
class Retire:
    """Requests that are over: their rows take nothing more; at most `batch` of them."""

    rows: tuple[Row, ...]


class Sampled(NamedTuple):
    """The tokens of one request that a step committed, in order."""

    row: Row
    tokens: tuple[int, ...]


@dataclass(frozen=True)
class Malformed:
    """A request that cannot be run, refused in its turn: the step's prepare asks for its chunks and raises `error`."""

    error: Exception
    route: ClassVar[str] = "prefill"

    @property
    def chunks(self) -> NoReturn:
        raise self.error
