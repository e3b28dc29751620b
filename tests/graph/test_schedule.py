import pytest

from graph.files import shipped
from graph.order import marked_graph
from graph.reading import load, load_text
from graph.schedule import costs, schedule, waits
from tests.graph.headers import CASES

RING = """\
types:
  Inputs: value
buffers:
  inputs: {type: Inputs, slots: 2}
nodes:
  prepare: {kind: prepare, acquires: [inputs], writes: [inputs]}
  dispatch: {kind: dispatch, reads: [inputs]}
  release: {kind: release, releases: [inputs]}
edges:
  prepare -> dispatch: {carries: [inputs]}
  dispatch -> release: {carries: [inputs]}
lanes:
  host: [prepare]
  device: [dispatch, release]
routes:
  work: [prepare, dispatch, release]
  rest: [prepare, release]
costs: {prepare: 2, dispatch: 5}
"""
SOUND = [*shipped().values(), *sorted(CASES.glob("*.sound.yaml"))]


def ring(*overrides):
    return load_text(RING, "ring.yaml", overrides)


def times(topology, steps, routes=()):
    found = schedule(topology, costs(topology), steps, routes)
    return {(one.node, one.step): (one.start, one.end) for one in found}


def test_each_node_starts_as_soon_as_its_waits_allow():
    assert times(ring(), 3) == {
        ("prepare", 0): (0, 2),
        ("prepare", 1): (2, 4),
        ("dispatch", 0): (2, 7),
        ("release", 0): (7, 8),
        ("prepare", 2): (8, 10),  # two slots: waits for release of step 0
        ("dispatch", 1): (8, 13),
        ("release", 1): (13, 14),
        ("dispatch", 2): (14, 19),
        ("release", 2): (19, 20),
    }


def test_a_third_slot_lets_the_third_step_in_at_once():
    assert times(ring("buffers.inputs.slots=3"), 3)["prepare", 2] == (4, 6)


def test_in_flight_holds_the_entry_back():
    assert times(ring("in_flight=1"), 2)["prepare", 1] == (8, 10)


def test_a_node_that_the_route_leaves_out_takes_no_time():
    found = times(ring(), 2, ("rest", "work"))
    assert ("dispatch", 0) not in found
    assert found["release", 0] == (2, 3)
    assert found["dispatch", 1] == (4, 9)


def test_a_node_without_a_cost_takes_a_millisecond():
    assert costs(ring()) == {"prepare": 2.0, "dispatch": 5.0, "release": 1.0}


@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.stem)
def test_every_wait_is_met_and_where_no_node_is_passed_one_of_them_only_just(path):
    topology = load(path)
    graph = marked_graph(topology)
    for route in topology.steps_routes():
        found = times(topology, 7, (route,))
        all_work = len(topology.steps_routes()[route]) == len(graph.lag) and not any(graph.lag.values())
        for (node, step), (start, _) in found.items():
            ends = [
                found[arc.source, source][1]
                for arc, source in waits(topology, node, step, 7)
                if (arc.source, source) in found
            ]
            assert max(ends, default=0) <= start
            assert not all_work or max(ends, default=0) == start


def cases_with(code):
    return [path for path in sorted(CASES.glob("*.fault.yaml")) if f"# expect: {code}" in path.read_text()]


@pytest.mark.parametrize("path", cases_with("LF301"), ids=lambda path: path.stem)
def test_a_deadlock_has_no_schedule(path):
    topology = load(path)
    with pytest.raises(ValueError, match="in a circle"):
        schedule(topology, costs(topology), 2)


@pytest.mark.parametrize("path", cases_with("LF302"), ids=lambda path: path.stem)
def test_a_wait_for_a_later_turn_has_no_schedule(path):
    topology = load(path)
    with pytest.raises(ValueError, match="later turn"):
        schedule(topology, costs(topology), 2)
