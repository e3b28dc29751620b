"""A request's row takes from its own steps alone, and what a step may not do it is told in its place."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import pytest
import torch

from deepseek.decode import Bind
from deepseek.host_tails import keep
from deepseek.pipeline import executor
from deepseek.sizes import Sizes
from deepseek.steps import GREEDY, Batch, Chunk, Place, Retire, Row, Sampled, Sampling
from graph import Runtime, StepError, compile, load
from tests.deepseek.tiny import VOCABULARY, Device, tiny_model

SIZES = Sizes(VOCABULARY, context=64, batch=4, capacity=4, rows=2, packed=2, chunk=8, page=16)
TOPOLOGIES = ("sync", "pingpong", "overlap", "deep", "latebind")
OLD, NEW = 3, 4


@cache
def network() -> torch.nn.Module:
    return tiny_model()


def device(**sizes: int) -> Device:
    return Device(tiny_model(), Sizes(**{**vars(SIZES), "pages": 0, **sizes}))


def same(one: list[torch.Tensor], other: list[torch.Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("kind", ["decode", "first chunk", "later chunk"])
@pytest.mark.parametrize("stale", [0, OLD - 1, OLD, -NEW, NEW + 1])
def test_a_step_of_another_generation_writes_nothing(kind: str, stale: int) -> None:
    run = device()
    run.prefill([(1, 2, 3, 4, 5)] * 2, generation=NEW)
    run.decode((0, 1), generation=NEW)
    before = run.snapshot(1)
    if kind == "decode":
        yielded = run.decode((1,), generation=stale).sampled
    else:
        position = 0 if kind == "first chunk" else 5
        if kind == "first chunk" and stale > NEW:
            pytest.skip("a newer generation may open the row")
        yielded = run.prefill([(6, 7)], rows=(1,), generation=stale, position=position).sampled
    assert (yielded < 0).all()
    assert same(before, run.snapshot(1))


def test_a_retired_row_takes_no_step_of_the_request_that_had_it() -> None:
    run = device()
    run.prefill([(1, 2, 3)], generation=NEW)
    run.state.generation[0] = -NEW
    before = run.snapshot(0)
    assert (run.decode((0,), generation=NEW).sampled < 0).all()
    assert (run.prefill([(1, 2)], generation=NEW).sampled < 0).all()
    assert same(before, run.snapshot(0))


@pytest.mark.parametrize("row", [-1, SIZES.capacity, SIZES.capacity + 7])
def test_rows_out_of_range_reach_no_one(row: int) -> None:
    run = device()
    run.prefill([(1, 2, 3)] * SIZES.capacity)
    before = [run.snapshot(mine) for mine in range(SIZES.capacity)]
    assert (run.decode((row,)).sampled < 0).all()
    assert all(same(mine, run.snapshot(place)) for place, mine in enumerate(before))


def test_one_request_does_not_touch_anothers_state() -> None:
    run = device()
    run.prefill([(1, 2, 3, 4)] * 3)
    before = run.snapshot(2)
    for _ in range(5):
        run.decode((0, 1))
    assert same(before, run.snapshot(2))


def test_state_that_held_nan_changes_nothing() -> None:
    clean, dirty = device(), device()
    for tensor in (*dirty.caches.tensors(), dirty.state.temperature, dirty.state.top_p):
        tensor.fill_(torch.nan)
    tokens = []
    for run in (clean, dirty):
        begun = run.prefill([(1, 2, 3, 4, 5, 6, 7)] * 2)
        tokens.append([begun.sampled.tolist(), *(run.decode((0, 1)).sampled.tolist() for _ in range(20))])
    assert tokens[0] == tokens[1]


def test_the_state_counts_what_was_committed_and_where_the_tail_stands() -> None:
    run = device(rows=4)
    prompt = (5, 3, 1)
    tokens = run.prefill([prompt]).sampled.tolist()
    for _ in range(6):
        step = run.decode((0,))
        tokens += [token for token in step.sampled[0].tolist() if token >= 0]
        assert int(run.state.committed[0]) == len(tokens)
        assert int(run.state.positions[0]) == len(prompt) + len(tokens) - 1
        assert int(run.state.tokens[0, 0]) == tokens[-1]


def table(row: int) -> tuple[int, ...]:
    return tuple(range(row * SIZES.blocks, (row + 1) * SIZES.blocks))


def chunk(row: Row, *tokens: int, position: int = 0, following: int | None = None) -> Chunk:
    return Chunk(row, tokens, position, following, GREEDY, table(row.row))


MALFORMED = {
    "no place": Batch(),
    "row below 0": Batch((Place(Row(-1, 1), (0,)),)),
    "row beyond the capacity": Batch((Place(Row(SIZES.capacity, 1), (0,)),)),
    "row twice": Batch((Place(Row(1, 1), (0,)), Place(Row(1, 1), (0,)))),
    "generation 0": Batch((Place(Row(1, 0), (0,)),)),
    "too many places": Batch(tuple(Place(Row(row % 4, 1), ()) for row in range(5))),
    "page beyond all": Batch((Place(Row(1, 1), (SIZES.pages,)),)),
    "page below 0": Batch((Place(Row(1, 1), (-1,)),)),
    "too many pages": Batch((Place(Row(1, 1), (0,) * (SIZES.blocks + 1)),)),
    "not a command": None,
}
MALFORMED_PROMPTS = {
    "no tokens": chunk(Row(1, 1)),
    "too many tokens": chunk(Row(1, 1), *[1] * (SIZES.chunk + 1)),
    "token beyond the vocabulary": chunk(Row(1, 1), VOCABULARY),
    "token below 0": chunk(Row(1, 1), -1),
    "following token beyond the vocabulary": chunk(Row(1, 1), 1, following=VOCABULARY),
    "beyond the context": chunk(Row(1, 1), 1, 2, position=SIZES.context - 1),
    "position below 0": chunk(Row(1, 1), 1, position=-1),
    "too few pages": Chunk(Row(1, 1), (1,) * 8, 16, None, GREEDY, (0,)),
    "row beyond the capacity": chunk(Row(SIZES.capacity, 1), 1),
}


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_a_malformed_command_gets_its_error_in_its_place_and_disturbs_no_other(topology: str) -> None:
    commands = [("decode", command) for command in MALFORMED.values()]
    commands += [("prefill", Batch(chunks=(bad,))) for bad in MALFORMED_PROMPTS.values()]
    commands += [("retire", Retire(())), ("retire", Retire((Row(-1, 1),))), ("mixed", Batch())]
    resolved: list[int] = []
    with Runtime(compile(load(topology)), executor(tiny_model(), SIZES), threads=1) as run:
        assert run.rows is not None
        row = Row(*run.rows.reserve() or ())
        good = Batch((Place(row, table(0)),))
        first = run.submit(Batch(chunks=(chunk(row, 1, 2, 3),)), route="prefill", rows=(row,))
        tickets = []
        for route, command in commands:
            tickets.append(run.submit(command, route=route))
            tickets.append(run.submit(good, route="decode", rows=(row,)))
        for number, ticket in enumerate(tickets):
            ticket.add_done_callback(lambda _, number=number: resolved.append(number))
        errors, tokens = tickets[0::2], [first.result(30)[0].tokens]
        for ticket, (route, _) in zip(errors, commands, strict=True):
            with pytest.raises(StepError) as raised:
                ticket.result(30)
            assert raised.value.node.startswith("prepare"), route
        for ticket in tickets[1::2]:
            (sampled,) = ticket.result(30)
            tokens.append(sampled.tokens)
    assert resolved == list(range(len(tickets)))
    assert sum(tokens, ()) == alone(sum(map(len, tokens)))
    assert run.held_slots() == []


@cache
def alone(count: int) -> tuple[int, ...]:
    run = Device(tiny_model(), SIZES)
    tokens = run.prefill([(1, 2, 3)]).sampled.tolist()
    while len(tokens) < count:
        tokens += [token for token in run.decode((0,)).sampled[0].tolist() if token >= 0]
    return tuple(tokens[:count])


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_a_mixed_step_gives_what_its_parts_give_alone(topology: str) -> None:
    with Runtime(compile(load(topology)), executor(tiny_model(), SIZES), threads=1) as run:
        assert run.rows is not None
        one, two, three = (Row(*run.rows.reserve() or ()) for _ in range(3))
        first = run.submit(Batch(chunks=(chunk(one, 1, 2, 3),)), route="prefill", rows=(one,)).result(30)
        mixed = Batch((Place(one, table(0)),), (chunk(two, 7, 6), chunk(three, 1, following=2)))
        later = run.submit(mixed, route=mixed.route, rows=(one, two, three)).result(30)
        end = Batch((Place(one, table(0)), Place(two, table(1))), (chunk(three, 2, 3, position=1),))
        last = run.submit(end, route=end.route, rows=(one, two, three)).result(30)
    by_row: dict[Row, tuple[int, ...]] = {}
    for sampled in (*first, *later, *last):
        by_row[sampled.row] = by_row.get(sampled.row, ()) + sampled.tokens
    assert by_row[one] == alone(len(by_row[one]))
    assert by_row[three] == alone(1)
    assert [sampled.row for sampled in later] == [two, one]
    assert all(isinstance(sampled, Sampled) for sampled in later)


def test_sampling_settings_of_a_row_are_those_of_the_request_that_has_it_now() -> None:
    run = device()
    run.prefill([(1, 2, 3)], generation=1, samplings=[Sampling(2.0, 1.0, 5)])
    run.state.generation[0] = -1
    begun = run.prefill([(1, 2, 3)], generation=2)
    tokens = begun.sampled.tolist()
    for _ in range(4):
        tokens += [token for token in run.decode((0,), generation=2).sampled[0].tolist() if token >= 0]
    assert tuple(tokens) == alone(len(tokens))


def test_retiring_takes_a_row_from_its_request_and_from_no_later_one() -> None:
    with Runtime(compile(load("pingpong")), executor(tiny_model(), SIZES), threads=1) as run:
        assert run.rows is not None
        one = Row(*run.rows.reserve() or ())
        prompt = Batch(chunks=(chunk(one, 1, 2, 3),))
        decode = Batch((Place(one, table(0)),))
        assert run.submit(prompt, route="prefill", rows=(one,)).result(30)
        assert run.submit(decode, route="decode", rows=(one,)).result(30)
        run.submit(Retire((one,)), route="retire", rows=(one,)).result(30)
        assert run.submit(decode, route="decode", rows=(one,)).result(30) == ()
        assert run.submit(prompt, route="prefill", rows=(one,)).result(30) == ()
        run.rows.free(*one)
        later = [Row(*run.rows.reserve() or ()) for _ in range(SIZES.capacity)]
        (two,) = [row for row in later if row.row == one.row]
        anew = Batch(chunks=(chunk(two, 1, 2, 3),))
        assert run.submit(anew, route="prefill", rows=(two,)).result(30)
        run.submit(Retire((one,)), route="retire", rows=(one,)).result(30)
        assert run.submit(Batch((Place(two, table(0)),)), route="decode", rows=(two,)).result(30)


def test_bind_fills_in_only_what_the_host_knows_of_this_generation() -> None:
    tails = SimpleNamespace(
        tokens=torch.tensor([[5, 6], [7, 1], [2, 3], [0, 0]]),
        positions=torch.tensor([9, 8, 7, 0]),
        generation=torch.tensor([NEW, OLD, NEW, 0], dtype=torch.int32),
    )
    inputs = SimpleNamespace(
        rows=torch.tensor([0, 1, 2, SIZES.capacity]),
        generation=torch.tensor([NEW, NEW, OLD, 0], dtype=torch.int32),
        positions=torch.zeros(4, dtype=torch.int64),
        tokens=torch.zeros(4, 2, dtype=torch.int64),
    )
    bind = Bind()
    bind.tails = tails
    bind.run(None, SimpleNamespace(inputs=inputs))  # type: ignore[arg-type]
    assert inputs.positions.tolist() == [9, -1, -1, -1]
    assert inputs.tokens.tolist() == [[5, 6], [-1, -1], [-1, -1], [-1, -1]]


def test_the_host_notes_only_rows_that_were_told_something() -> None:
    tails = SimpleNamespace(
        tokens=torch.zeros(3, 2, dtype=torch.int64),
        positions=torch.zeros(3, dtype=torch.int64),
        generation=torch.zeros(3, dtype=torch.int32),
    )
    inputs = SimpleNamespace(
        rows=torch.tensor([1, 2, 0]), generation=torch.tensor([4, 5, 6], dtype=torch.int32)
    )
    outputs = SimpleNamespace(next=torch.tensor([[1, 2], [3, 4], [5, 6]]), positions=torch.tensor([7, 8, 9]))
    keep(tails, inputs, outputs, torch.tensor([True, False, True]))
    assert tails.tokens.tolist() == [[5, 6], [1, 2], [0, 0]]
    assert tails.positions.tolist() == [9, 7, 0]
    assert tails.generation.tolist() == [6, 4, 0]
