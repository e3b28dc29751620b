"""An executor for engine tests: the shipped topologies on a real run, with a device whose tokens follow from a rule.

The device keeps rows with generations and pages, and notes in every position of a page who wrote it. A step reads all
that the request has written so far; where a page is not in its table, or somebody else has written to it, the token is
`POISON`, which the rule never gives.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from deepseek.engine import Engine, Event, Request
from deepseek.sizes import Sizes
from deepseek.steps import Chunk, Place, Row, Sampled
from deepseek.tokenizer import Tokenizer
from graph import Context, Executor, Program, Runtime, compile, load
from graph.errors import StepError
from tests.fakes import Gate

POISON = 0
Before = Callable[[str, Any], None]
"""Called with a node's name and its step before the node does its work."""


@cache
def program(topology: str, *overrides: str) -> Program:
    """The compiled topology; made once."""
    return compile(load(topology, overrides))


def rule(previous: int, position: int, seed: int, vocab_size: int) -> int:
    """The token at a position, after the previous one."""
    return 1 + (previous * 7 + position * 13 + seed * 5) % (vocab_size - 1)


def expected(request: Request, vocab_size: int) -> list[int]:
    """The tokens that the request must get, until `max_tokens` or the first of its stop ids."""
    tokens: list[int] = []
    previous = request.prompt[-1]
    for position in range(len(request.prompt), len(request.prompt) + request.max_tokens):
        previous = rule(previous, position, request.sampling.seed, vocab_size)
        tokens.append(previous)
        if previous in request.stop_ids:
            break
    return tokens


@dataclass
class _DeviceRow:
    generation: int = 0
    tail: int = 0
    position: int = 0
    """Of the tail."""
    seed: int = 0


class Device:
    """Memory and rule; used by the device lane alone."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self.rows = [_DeviceRow() for _ in range(sizes.capacity)]
        self.cells: dict[tuple[int, int], tuple[Row, int]] = {}
        """Who wrote position `offset` of a page, and for which of its positions."""

    def prefill(self, chunk: Chunk) -> Sampled | None:
        row = self.rows[chunk.row.row]
        if chunk.position == 0 and abs(row.generation) < chunk.row.generation:
            self.rows[chunk.row.row] = row = _DeviceRow(chunk.row.generation, seed=chunk.sampling.seed)
        if row.generation != chunk.row.generation:
            return None
        end = chunk.position + len(chunk.tokens)
        whole = self._write(chunk.row, chunk.pages, range(chunk.position, end), chunk.position)
        if chunk.following is not None:
            return None
        row.tail = rule(chunk.tokens[-1], end, row.seed, self.sizes.vocab_size) if whole else POISON
        row.position = end
        return Sampled(chunk.row, (row.tail,))

    def decode(self, place: Place) -> Sampled | None:
        row = self.rows[place.row.row]
        if row.generation != place.row.generation:
            return None
        start, rows = row.position, self.sizes.rows
        whole = self._write(place.row, place.pages, range(start, start + rows), start)
        tokens: list[int] = []
        for _ in range(self.commits(row.seed, start)):
            row.position += 1
            row.tail = rule(row.tail, row.position, row.seed, self.sizes.vocab_size) if whole else POISON
            tokens.append(row.tail)
        return Sampled(place.row, tuple(tokens))

    def commits(self, seed: int, position: int) -> int:
        """1 to `rows`: how many tokens of a step are right."""
        return 1 + ((position * 2654435761 + seed * 40503) >> 7) % self.sizes.rows

    def retire(self, rows: Iterable[Row]) -> None:
        for row, generation in rows:
            if self.rows[row].generation == generation:
                self.rows[row].generation = -generation

    def _write(self, owner: Row, pages: tuple[int, ...], positions: range, before: int) -> bool:
        """Write positions as far as there are pages; whether all before them are still the owner's."""
        page = self.sizes.page
        for position in positions:
            if position // page < len(pages):
                self.cells[pages[position // page], position % page] = (owner, position)
        if before > len(pages) * page:
            return False
        return all(self.cells.get((pages[p // page], p % page)) == (owner, p) for p in range(before))


class _Node:
    ports = None

    def __init__(self, name: str, before: Before, work: Callable[[Any], Any]) -> None:
        self.name, self.before, self.work = name, before, work

    def start(self, context: Context) -> None:
        """Nothing to start."""

    def run(self, step: Any, slots: Any) -> Any:
        self.before(self.name, step)
        return self.work(step)

    def stop(self) -> None:
        """Nothing to stop."""


class _LastNode(_Node):
    """Forgets the step whatever happens."""

    def __init__(
        self, name: str, before: Before, work: Callable[[Any], Any], forget: Callable[[int], None]
    ) -> None:
        super().__init__(name, before, work)
        self.forget = forget

    def run(self, step: Any, slots: Any) -> Any:
        try:
            return super().run(step, slots)
        finally:
            self.forget(step.index)


class Scripted:
    """The nodes of the decode topologies around one device, and what they were told to do, by step."""

    def __init__(
        self, sizes: Sizes, topology: str = "pingpong", *overrides: str, before: Before | None = None
    ) -> None:
        self.sizes, self.device = sizes, Device(sizes)
        self.program: Program = program(topology, *overrides)
        self._before = before or (lambda name, step: None)
        self._commands: dict[int, Any] = {}
        self._sampled: dict[int, list[Sampled]] = defaultdict(list)
        self.log: list[tuple[str, Any]] = []
        """(route, command) of each step that was prepared, in order."""
        self.logs = True

    def run(self, **options: Any) -> Runtime:
        topology = self.program.topology
        nodes = {
            name: _LastNode(name, self._before, getattr(self, f"_{name}"), self._forget)
            if node.kind == "release"
            else _Node(name, self._before, getattr(self, f"_{name}"))
            for name, node in topology.nodes.items()
        }
        able = frozenset({"device_state", "device_embedding", "split_reclaim", "mtp"})
        return Runtime(self.program, Executor(nodes, able, {"Caches": dict}, self.sizes.dims), **options)

    @property
    def steps_held(self) -> int:
        """Steps that have begun and are not released."""
        return len(self._commands) + len(self._sampled)

    def _note(self, step: Any) -> None:
        if step.index not in self._commands and self.logs:
            self.log.append((step.route, step.command))
        self._commands[step.index] = step.command

    def _prepare(self, step: Any) -> None:
        self.sizes.check_places(step.command.places)
        self._note(step)

    def _prepare_prefill(self, step: Any) -> None:
        self.sizes.check_chunks(step.command.chunks)
        self._note(step)

    def _prepare_retire(self, step: Any) -> None:
        self.sizes.check_rows(step.command.rows)
        self._note(step)

    def _bind(self, step: Any) -> None:
        """The device knows what comes next."""

    def _prefill(self, step: Any) -> None:
        found = map(self.device.prefill, self._commands[step.index].chunks)
        self._sampled[step.index] += [sampled for sampled in found if sampled is not None]

    def _dispatch(self, step: Any) -> None:
        found = map(self.device.decode, self._commands[step.index].places)
        self._sampled[step.index] += [sampled for sampled in found if sampled is not None]

    def _reclaim(self, step: Any) -> tuple[Sampled, ...]:
        return tuple(self._sampled.pop(step.index, ()))

    _reclaim_prefill = _reclaim_mixed = _reclaim

    def _release(self, step: Any) -> None:
        """Slots are given back by the run."""

    _release_prefill = _release

    def _retire(self, step: Any) -> None:
        if step.error is None:
            self.device.retire(self._commands[step.index].rows)

    def _forget(self, step: int) -> None:
        self._commands.pop(step, None)
        self._sampled.pop(step, None)

    @contextmanager
    def engine(self, tokenizer: Tokenizer | None = None, **options: Any) -> Iterator[Engine]:
        """An engine on a run of its own; at the end nothing is left anywhere."""
        with self.run(**options) as run:
            with Engine(run, self.sizes, tokenizer) as engine:
                yield engine
            assert run.rows is not None
            assert run.rows.taken == engine.stats.withdrawn_rows
        assert run.held_slots() == []
        assert self.steps_held == 0


class Told(NamedTuple):
    """What the events of one request say, together."""

    tokens: list[int]
    text: str
    finish: str | None
    error: StepError | None


@dataclass
class _Record:
    tokens: list[int] = field(default_factory=list)
    text: str = ""
    finish: str | None = None
    error: StepError | None = None


def told(events: Iterable[Event]) -> dict[str, Told]:
    """By request, what the events say; each must end once, and have nothing behind its end."""
    records: dict[str, _Record] = defaultdict(_Record)
    for event in events:
        record = records[event.request]
        assert record.finish is None, f"`{event.request}` has ended, and then came {event}"
        if event.token is not None:
            record.tokens.append(event.token)
        record.text += event.text or ""
        record.finish, record.error = event.finish, event.error
    return {id: Told(**vars(record)) for id, record in records.items()}


class Hold:
    """Holds the node's n-th call (from 1) until the test opens it; to be used as `before`."""

    def __init__(self, node: str, call: int) -> None:
        self.node, self.call, self.calls = node, call, 0
        self.gate = Gate()

    def __call__(self, node: str, step: Any) -> None:
        if node == self.node:
            self.calls += 1
            if self.calls == self.call:
                self.gate.pass_through()
