"""Slots are allocated once, from the declared types, and show a node what it declared and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from graph import BindError, StepError, Unfinished, load
from graph.slots import allocate
from tests.fakes import HANG_S, Gate, Probed, probed, topology

pytestmark = pytest.mark.usefixtures("nothing_left")

PARTS: dict[str, Any] = {
    "dims": {"batch": 3},
    "types": {
        "Inputs": {
            "tokens": "int64[batch, 2]",
            "scale": "float32[batch]",
            "done": "bool[batch]",
            "generation": "int32[batch]",
        },
        "Rows": {"tail": "int64[5]", "generation": "int32[5]"},
        "Handle": "resource",
    },
    "buffers": {
        "inputs": {"type": "Inputs", "slots": 2, "place": "pinned"},
        "handle": {"type": "Handle", "slots": 3},
        "state": {"type": "Rows", "persistent": True, "keyed_by": "request", "place": "device"},
    },
    "nodes": {
        "take": {
            "kind": "prepare",
            "acquires": ["inputs", "handle"],
            "writes": ["inputs.tokens", "inputs.done", "inputs.generation"],
        },
        "work": {
            "kind": "dispatch",
            "reads": ["inputs.tokens", "inputs.generation", "state.generation"],
            "writes": ["inputs.scale", "handle", "state.tail"],
        },
        "give": {"kind": "release", "reads": ["inputs.scale"], "releases": ["inputs", "handle"]},
    },
    "edges": {
        "take -> work": {"carries": ["inputs", "handle"]},
        "work -> give": {"carries": ["inputs", "handle"]},
    },
    "lanes": {"host": ["take"], "device": ["work"], "out": ["give"]},
}


def parts(**changed: Any) -> Any:
    return topology(**{**PARTS, **changed})


def drive(probes: Probed, steps: int = 6, **options: Any) -> list[Any]:
    with probes.run(**options) as run:
        tickets = [run.submit(index) for index in range(steps)]
        return [ticket.exception(timeout=HANG_S) for ticket in tickets]


def test_slots_have_the_declared_shapes_and_counts() -> None:
    pools = probed(parts()).run().pools
    inputs = pools["inputs"].slots
    assert len(inputs) == 2
    assert [(t.dtype, list(t.shape)) for t in inputs[0].values()] == [
        (torch.int64, [3, 2]),
        (torch.float32, [3]),
        (torch.bool, [3]),
        (torch.int32, [3]),
    ]
    with probed(parts()).run() as run:
        assert len({id(slot) for slot in run.pools["handle"].slots}) == 3
    assert len(pools["state"].slots) == 1


def test_the_executors_dims_replace_the_files() -> None:
    probes = probed(parts(), dims={"batch": 7})
    assert probes.run().pools["inputs"].slots[0]["tokens"].shape == (7, 2)
    with probes.run():
        pass
    context = probes.executor.nodes["take"].context  # type: ignore[attr-defined]
    assert context.dims["batch"] == 7


def test_nothing_is_allocated_after_the_start() -> None:
    seen: dict[str, set[int]] = {}

    def behave(node: str, step: Any, slots: Any) -> None:
        if node == "work":
            seen.setdefault("tokens", set()).add(slots.inputs.tokens.data_ptr())
            seen.setdefault("tail", set()).add(slots.state.tail.data_ptr())
            seen.setdefault("handle", set()).add(id(slots.handle))

    probes = probed(parts(), behave)
    run = probes.run()
    before = {tensor.data_ptr() for tensor in run.pools["inputs"].tensors()}
    with run:
        for index in range(12):
            assert run.submit(index).exception(timeout=HANG_S) is None
    assert {tensor.data_ptr() for tensor in run.pools["inputs"].tensors()} == before
    assert seen["tokens"] == {slot["tokens"].data_ptr() for slot in run.pools["inputs"].slots}
    assert [len(seen[name]) for name in ("tokens", "tail", "handle")] == [2, 1, 3]


def test_consecutive_steps_take_the_slots_in_turn() -> None:
    seen: list[int] = []
    probes = probed(
        parts(), lambda node, step, slots: seen.append(id(slots.handle)) if node == "work" else None
    )
    assert drive(probes, 9) == [None] * 9
    assert seen[:3] == seen[3:6] == seen[6:9]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (lambda slots: slots.inputs.scale, "scale"),  # `take` does not declare that field
        (lambda slots: slots.handle, "handle"),  # acquired, not used
        (lambda slots: slots.state, "state"),
        (lambda slots: slots.at(1), "@n"),
    ],
)
@pytest.mark.parametrize("checked", [False, True])
def test_a_node_does_not_see_what_it_did_not_declare(expression: Any, message: str, checked: bool) -> None:
    probes = probed(parts(), lambda node, step, slots: expression(slots) and None if node == "take" else None)
    error = drive(probes, 1, checked=checked)[0]
    assert isinstance(error, StepError)
    assert isinstance(error.cause, AttributeError)
    assert message in str(error.cause)


def test_nodes_get_their_persistent_buffers_at_start() -> None:
    probes = probed(parts())
    with probes.run() as run:
        pass
    contexts = {name: node.context for name, node in probes.executor.nodes.items()}  # type: ignore[attr-defined]
    assert contexts["work"].buffers["state"].tail is run.pools["state"].slots[0]["tail"]
    assert contexts["take"].buffers == {}


def test_nodes_get_the_slot_counts_of_the_others_that_they_use() -> None:
    probes = probed(parts())
    with probes.run() as run:
        pass
    contexts = {name: node.context for name, node in probes.executor.nodes.items()}  # type: ignore[attr-defined]
    assert contexts["take"].slots == {"inputs": len(run.pools["inputs"].slots)}
    assert "state" not in contexts["work"].slots


def test_a_resource_without_a_factory_is_refused() -> None:
    with pytest.raises(BindError, match="Handle"):
        probed(parts(), resources={}).run()


def test_a_dimension_without_a_size_is_refused() -> None:
    with pytest.raises(BindError, match=r"inputs\.tokens.*batch"):
        allocate(parts(dims={}), {}, {"Handle": object}, "cpu", print)


def test_memory_that_cannot_be_had_is_refused() -> None:
    with pytest.raises(BindError, match="inputs"):
        probed(parts(), dims={"batch": 1 << 60}).run()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is such a device")
def test_a_device_that_torch_lacks_is_refused() -> None:
    with pytest.raises(BindError, match="cannot be allocated"):
        probed(parts()).run(device="cuda")


def test_slots_of_a_run_made_under_inference_mode_can_be_written_on_the_lanes() -> None:
    """They used to be inference tensors, which no other thread may write."""

    def behave(node: str, step: Any, slots: Any) -> None:
        if node == "take":
            slots.inputs.tokens.fill_(1)

    probes = probed(parts(), behave)
    with torch.inference_mode():
        run = probes.run()
    with run:
        assert run.submit(0).exception(timeout=HANG_S) is None


def test_a_resource_may_be_a_dict() -> None:
    """It used to be taken for a record of tensors."""
    probes = probed(parts(), lambda node, step, slots: slots.handle.update(x=1) if node == "work" else None)
    assert drive(probes, 3, checked=True) == [None] * 3


def test_slot_counts_whose_views_repeat_too_seldom_are_not_kept() -> None:
    buffers = {
        **PARTS["buffers"],
        "inputs": {"type": "Inputs", "slots": 97},
        "handle": {"type": "Handle", "slots": 89},
    }
    probes = probed(parts(buffers=buffers))
    with probes.run() as run:
        for index in range(200):
            run.submit(index).result(timeout=HANG_S)
    assert max(len(views.made) for views in run._parts.assembly.views) <= 97


# -- quarantine ----------------------------------------------------------------------------------------------


def unfinished(at: int) -> Any:
    def behave(node: str, step: Any, slots: Any) -> None:
        if node == "work":
            slots.handle["step"] = step.index
            if step.index == at:
                raise Unfinished("the device is silent")

    return behave


@pytest.mark.parametrize("checked", [False, True])
def test_slots_of_an_unfinished_call_are_replaced_and_never_used_again(checked: bool) -> None:
    probes = probed(parts(), unfinished(4))
    with probes.run(checked=checked) as run:
        before = {name: list(pool.slots) for name, pool in run.pools.items()}
        tickets = [run.submit(index) for index in range(20)]
        errors = [ticket.exception(timeout=HANG_S) for ticket in tickets]
        after = {name: list(pool.slots) for name, pool in run.pools.items()}
    assert [index for index, error in enumerate(errors) if error] == [4]
    assert sorted(run.quarantined) == [("handle", 4 % 3, 4), ("inputs", 4 % 2, 4)]
    held = run.pools["handle"].quarantined[0]
    assert held is before["handle"][1]
    assert held == {"step": 4}  # no later step has written it
    assert after["handle"][1] is not held
    assert after["inputs"][0]["tokens"] is not before["inputs"][0]["tokens"]
    assert after["inputs"][1]["tokens"] is before["inputs"][1]["tokens"]
    assert run.pools["state"].quarantined == []
    assert run.held_slots() == []


def test_a_quarantined_slot_is_not_even_poisoned() -> None:
    """The device may still be reading it."""
    probes = probed(parts(), unfinished(0))
    with probes.run(checked=True) as run:
        run.submit(0).exception(timeout=HANG_S)
    slot = run.pools["inputs"].quarantined[0]
    assert not torch.isnan(slot["scale"]).any()


def test_an_absent_slot_is_not_quarantined() -> None:
    looking = topology(
        types={"T": {"x": "int64[1]"}},
        buffers={"b": {"type": "T", "slots": 3}},
        nodes={
            "make": {"kind": "bind", "acquires": ["b"], "writes": ["b"], "reads": ["b@1"]},
            "drop": {"kind": "release", "releases": ["b"]},
        },
        edges={"make -> drop": {"carries": ["b"]}, "make@1 -> make": {"lends": ["b"]}},
        lanes={"host": ["make", "drop@1"]},
    )

    def behave(node: str, step: Any, slots: Any) -> None:
        if (node, step.index) == ("make", 0):
            raise Unfinished

    probes = probed(looking, behave)
    assert sum(error is not None for error in drive(probes, 8)) == 1
    with probes.run() as run:
        for index in range(8):
            run.submit(index).exception(timeout=HANG_S)
    assert run.quarantined == [("b", 0, 0)]


def test_slots_are_held_only_between_acquire_and_release() -> None:
    gate = Gate()
    probes = probed(parts(), lambda node, step, slots: gate.pass_through() if node == "work" else None)
    with probes.run() as run:
        assert run.held_slots() == []
        ticket = run.submit(0)
        gate.wait()
        assert sorted(run.held_slots()) == [("handle", 0), ("inputs", 0)]
        gate.open()
        ticket.result(timeout=HANG_S)
        assert run.held_slots() == []


def test_shipped_topologies_allocate_what_they_declare() -> None:
    source = load("deep")
    pools = probed(source, dims={"batch": 2}).run().pools
    for name, buffer in source.buffers.items():
        assert len(pools[name].slots) == buffer.slots
    assert pools["inputs"].slots[0]["rows"].shape == (2,)


@pytest.mark.parametrize("checked", [False, True])
def test_a_field_cannot_be_replaced_and_later_steps_are_unharmed(checked: bool) -> None:
    """Assigning used to put another tensor into the node's view, for good: what it wrote later was lost."""
    seen: list[list[float]] = []

    def behave(node: str, step: Any, slots: Any) -> None:
        if node == "work":
            if step.index == 0:
                slots.inputs.scale = torch.full([3], 9.0)
            slots.inputs.scale.fill_(step.index)
        elif node == "give" and step.error is None:
            seen.append(slots.inputs.scale.tolist())

    errors = drive(probed(parts(), behave), 4, checked=checked)
    assert isinstance(errors[0], StepError)
    assert "copy_" in str(errors[0].cause)
    assert errors[1:] == [None] * 3
    assert seen == [[1.0] * 3, [2.0] * 3, [3.0] * 3]


@pytest.mark.parametrize("checked", [False, True])
def test_a_buffer_cannot_be_replaced(checked: bool) -> None:
    def behave(node: str, step: Any, slots: Any) -> None:
        if node == "work":
            slots.inputs = {}

    errors = drive(probed(parts(), behave), 1, checked=checked)
    assert isinstance(errors[0], StepError)
    assert isinstance(errors[0].cause, AttributeError)


@pytest.mark.parametrize("checked", [False, True])
def test_writing_in_place_by_an_operator_is_writing(checked: bool) -> None:
    def behave(node: str, step: Any, slots: Any) -> None:
        if node == "work":
            slots.inputs.scale += 1

    assert drive(probed(parts(), behave), 3, checked=checked) == [None] * 3
