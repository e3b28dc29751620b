"""Steps are ahead of their results: whatever happens while they are in flight, each request gets its own tokens."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from deepseek.engine import Engine, Event, Request
from deepseek.sizes import Sizes
from deepseek.steps import Batch, Retire, Sampling
from tests.deepseek.scripted import Hold, Scripted, expected, told

TOPOLOGIES = ("sync", "pingpong", "overlap", "deep", "latebind")
AHEAD = ("pingpong", "deep")
"""Those in which a step waits for none before it, so that one can be held while the one before it is told."""
SIZES = Sizes(50, 64, batch=4, capacity=4, rows=2, packed=2, chunk=8, page=4)
LONG = Request((5, 6, 7), 30)
OTHER = Request((9, 8), 20, Sampling(seed=4))


def want(request: Request) -> list[int]:
    return expected(request, SIZES.vocab_size)


def until_held(events: Iterator[Event], hold: Hold, id: str) -> list[Event]:
    """Events up to the second of `id`'s decode steps being held."""
    seen = []
    for event in events:
        seen.append(event)
        if event.request == id and sum(one.request == id for one in seen) >= 2:
            hold.gate.wait()
            return seen
    raise AssertionError("the request has ended")


def aborted_while_held(
    engine: Engine, hold: Hold, seen: list[Event], events: Iterator[Event], id: str
) -> None:
    """Take events until the abort is told, which has to be while the step is still held."""
    assert engine.abort(id)
    for event in events:
        seen.append(event)
        if event.finish == "abort":
            assert event.request == id
            assert hold.gate.came.is_set()
            return


@pytest.mark.parametrize("topology", AHEAD)
@pytest.mark.parametrize("node", ["dispatch", "reclaim"])
def test_an_abort_before_and_behind_dispatch_drops_what_the_step_yields(topology: str, node: str) -> None:
    hold = Hold(node, 2)
    script = Scripted(SIZES, topology, before=hold)
    with script.engine() as engine:
        engine.add(LONG, "a")
        engine.add(OTHER, "b")
        events = engine.events()
        seen = until_held(events, hold, "a")
        aborted_while_held(engine, hold, seen, events, "a")
        hold.gate.open()
        seen += events
    found = told(seen)
    assert found["a"].finish == "abort"
    assert found["a"].tokens == want(LONG)[: len(found["a"].tokens)]
    assert found["b"].tokens == want(OTHER)


@pytest.mark.parametrize("topology", AHEAD)
@pytest.mark.parametrize("node", ["dispatch", "reclaim"])
def test_an_id_can_be_used_again_while_a_step_of_its_first_request_is_in_flight(
    topology: str, node: str
) -> None:
    hold = Hold(node, 2)
    script = Scripted(replace(SIZES, capacity=2), topology, before=hold)
    with script.engine() as engine:
        engine.add(LONG, "a")
        events = engine.events()
        seen = until_held(events, hold, "a")
        aborted_while_held(engine, hold, seen, events, "a")
        engine.add(OTHER, "a")
        assert engine.stats.steps["retire"] == 0  # the old step has not gone by
        hold.gate.open()
        after = list(events)
    assert told(after)["a"].tokens == want(OTHER)
    assert told(seen)["a"].finish == "abort"


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_the_end_of_sequence_is_found_late_and_what_follows_is_dropped(topology: str) -> None:
    stop = want(LONG)[9]
    request = replace(LONG, stop_ids=frozenset({stop}))
    script = Scripted(SIZES, topology)
    with script.engine() as engine:
        found = told(engine.generate([request, OTHER]))
    assert found["0"].tokens == want(request)
    assert found["0"].finish == "stop"
    assert found["1"].tokens == want(OTHER)


@pytest.mark.parametrize("topology", AHEAD)
def test_steps_behind_an_end_of_sequence_run_on(topology: str) -> None:
    request = replace(LONG, stop_ids=frozenset({want(LONG)[0]}))
    later = replace(LONG, stop_ids=frozenset({want(LONG)[4]}))
    for one in (request, later):
        script = Scripted(SIZES, topology)
        with script.engine() as engine:
            found = told(engine.generate([one]))
            places = sum(len(c.places) for _, c in script.log if isinstance(c, Batch))
            committed = engine.stats.places
        assert found["0"].tokens == want(one)
        assert (places > committed) == (one is later)  # none is planned before the first token is known


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_a_stop_inside_what_one_step_commits_drops_the_rest(topology: str) -> None:
    requests = [replace(LONG, stop_ids=frozenset({token})) for token in want(LONG)[:12]]
    with Scripted(replace(SIZES, rows=4), topology).engine() as engine:
        found = told(engine.generate(requests))
    for number, request in enumerate(requests):
        assert found[str(number)].tokens == want(request)
        assert found[str(number)].finish == "stop"


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_one_request_leaves_the_batch_and_another_takes_its_place(topology: str) -> None:
    requests = [Request((3 + n, 4), 20 + 9 * (n % 2), Sampling(seed=n)) for n in range(8)]
    script = Scripted(replace(SIZES, batch=2, capacity=2), topology)
    with script.engine() as engine:
        found = told(engine.generate(requests))
    for number, request in enumerate(requests):
        assert found[str(number)].tokens == want(request)
    batches = [c.places for _, c in script.log if isinstance(c, Batch) and c.places]
    pairs = {frozenset(place.row for place in places) for places in batches if len(places) == 2}
    assert len(pairs) >= 3  # others together, time after time
    retired: set[object] = set()
    for _, command in script.log:
        if isinstance(command, Retire):
            retired.update(command.rows)
        else:
            assert retired.isdisjoint(one.row for one in (*command.places, *command.chunks))
    assert len(retired) == len(requests)


def test_the_batch_grows_while_it_runs() -> None:
    script = Scripted(SIZES)
    with script.engine() as engine:
        engine.add(LONG, "a")
        seen = []
        for event in engine.events():
            seen.append(event)
            if len(seen) in (5, 8, 11):
                engine.add(OTHER, f"new {len(seen)}")
    found = told(seen)
    assert {id: one.tokens for id, one in found.items()} == {
        "a": want(LONG),
        **{f"new {count}": want(OTHER) for count in (5, 8, 11)},
    }
    assert max(len(c.places) for _, c in script.log if isinstance(c, Batch)) == 4


def test_an_abort_of_one_that_waits_is_told_at_once() -> None:
    script = Scripted(replace(SIZES, capacity=1))
    with script.engine() as engine:
        for id in "abcd":
            engine.add(LONG, id)
        assert engine.abort("b")  # not even looked at yet
        seen = []
        for event in engine.events():
            seen.append(event)
            if event.request == "a" and engine.abort("c"):
                assert not engine.abort("c")
        assert not engine.abort("b")
        assert not engine.abort("never heard of")
    found = told(seen)
    assert (found["b"].tokens, found["b"].finish) == ([], "abort")
    assert (found["c"].tokens, found["c"].finish) == ([], "abort")
    assert found["a"].tokens == found["d"].tokens == want(LONG)
    ends = [event.request for event in seen if event.finish is not None]
    assert ends == ["b", "c", "a", "d"]


def test_events_can_be_left_and_taken_up_again() -> None:
    with Scripted(SIZES).engine() as engine:
        seen = []
        engine.add(LONG, "a")
        engine.add(OTHER, "b")
        for _ in range(100):
            for event in engine.events():
                seen.append(event)
                break
    found = told(seen)
    assert found["a"].tokens == want(LONG)
    assert found["b"].tokens == want(OTHER)


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("taken", [0, 1, 5])
def test_closing_early_leaves_nothing_behind(topology: str, taken: int) -> None:
    script = Scripted(replace(SIZES, capacity=2), topology)
    with script.engine() as engine:
        for _ in range(5):
            engine.add(LONG)
        for _, _ in zip(range(taken), engine.events(), strict=False):
            pass
    assert engine.stats.requests["abort"] == 5
    engine.close()
