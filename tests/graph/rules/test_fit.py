"""LF501-LF503: an executor and a file that disagree."""

import pytest

from graph.node import Executor, Ports
from graph.reading import load_text
from graph.rules.fit import check_fit, missing_capabilities

FILE = """\
requires: [device_state, mtp]
types:
  Tokens: value
  Inputs: {tokens: "int64[8]", positions: "int64[8]"}
  Outputs: {sampled: "int64[8]"}
buffers:
  inputs: {type: Inputs, slots: 2}
  outputs: {type: Outputs, slots: 2}
nodes:
  prepare: {kind: prepare, acquires: [inputs], writes: [inputs]}
  dispatch: {kind: dispatch, acquires: [outputs], reads: [inputs, outputs@1], writes: [outputs]}
  reclaim: {kind: reclaim, reads: [outputs], emits: results}
  release: {kind: release, releases: [inputs, outputs]}
edges:
  prepare -> dispatch: {carries: [inputs]}
  dispatch -> reclaim: {carries: [inputs, outputs], value: Tokens}
  reclaim -> release: {carries: [inputs, outputs]}
lanes:
  only: [prepare, dispatch, reclaim, release]
routes:
  decode: [prepare, dispatch, reclaim, release]
"""


class Silent:
    def __init__(self, ports=None):
        self.ports = ports

    def start(self, context): ...

    def run(self, step, slots): ...

    def stop(self): ...


FITTING = {
    "prepare": Ports(writes=("inputs",), types={"inputs": "Inputs"}),
    "dispatch": Ports(
        reads=("inputs.tokens", "outputs.sampled@1"), writes=("outputs.sampled",), gives={"tokens": "Tokens"}
    ),
    "reclaim": Ports(reads=("outputs",), takes={"tokens": "Tokens"}, emits=True),
    "release": Ports(),
}


def executor(routes=(), capabilities=("device_state", "mtp"), **changed):
    nodes = {name: Silent(ports) for name, ports in {**FITTING, **changed}.items()}
    return Executor(nodes, frozenset(capabilities), routes=routes)


def faults(made, text=FILE):
    return check_fit(load_text(text, "ring.yaml"), made)


def test_an_executor_that_fits():
    assert faults(executor(routes=("decode",))) == []


def test_nodes_without_ports_accept_any_file():
    assert faults(executor(prepare=None, dispatch=None, reclaim=None, release=None)) == []


def test_nodes_that_the_file_does_not_use_do_no_harm():
    assert faults(executor(draft=Ports(writes=("drafts",), emits=True))) == []


def test_each_lacking_capability_is_named_at_its_place():
    found = faults(executor(capabilities=("mtp", "other")))
    (fault,) = found
    assert (fault.code, fault.location) == ("LF501", ("ring.yaml", 1, 12))
    assert "`device_state` (it has: mtp, other)" in fault.message
    assert [f.code for f in faults(executor(capabilities=()))] == ["LF501", "LF501"]


def test_a_fallback_makes_a_lacking_capability_no_fault():
    text = "fallback: sync\n" + FILE
    assert faults(executor(capabilities=()), text) == []
    assert missing_capabilities(load_text(text), executor(capabilities=["mtp"])) == ("device_state",)


def test_a_route_that_the_application_needs():
    (fault,) = faults(executor(routes=("decode", "prefill")))
    assert (fault.code, fault.route, fault.location.line) == ("LF503", "prefill", 20)


def test_a_file_without_routes_has_the_route_default():
    text = FILE.partition("routes:")[0]
    assert faults(executor(routes=("default",)), text) == []
    assert [fault.code for fault in faults(executor(routes=("decode",)), text)] == ["LF503"]


def test_a_node_without_implementation():
    made = Executor(
        {name: Silent() for name in ("prepare", "reclaim", "release")}, frozenset({"device_state", "mtp"})
    )
    (fault,) = faults(made)
    assert (fault.code, fault.nodes) == ("LF502", ("dispatch",))
    assert fault.location == ("ring.yaml", 11, 3)


def test_an_object_that_is_no_node():
    (fault,) = faults(Executor({**executor().nodes, "release": object()}, frozenset({"device_state", "mtp"})))
    assert "no node" in fault.message


@pytest.mark.parametrize(
    ("node", "ports", "buffer", "message"),
    [
        ("prepare", Ports(reads=("outputs",), writes=("inputs",)), "outputs", "reads `outputs`"),
        ("prepare", Ports(writes=("inputs", "outputs")), "outputs", "writes `outputs`"),
        ("prepare", Ports(writes=("inputs.tokens",)), "inputs", "does not write `inputs.positions`"),
        ("prepare", Ports(writes=("inputs",), types={"inputs": "Outputs"}), "inputs", "it is Inputs"),
        ("prepare", Ports(writes=("inputs",), emits=True), None, "emits, and the file does not say so"),
        ("reclaim", Ports(reads=("outputs",)), None, "does not emit to `results`"),
        ("reclaim", Ports(reads=("outputs@1",), emits=True), "outputs", "reads `outputs@1`"),
        ("reclaim", Ports(takes={"ids": "Ids"}, emits=True), None, "takes `ids`, a Ids"),
        ("release", Ports(gives={"tokens": "Tokens"}), None, "gives `tokens`, a Tokens"),
        ("dispatch", Ports(writes=("outputs",)), None, "gives no Tokens"),
    ],
)  # fmt: skip
def test_ports_that_differ(node, ports, buffer, message):
    (fault,) = faults(executor(**{node: ports}))
    assert (fault.code, fault.nodes, fault.buffer) == ("LF502", (node,), buffer)
    assert message in fault.message
    assert fault.help


def test_what_a_node_writes_it_may_read():
    assert faults(executor(prepare=Ports(reads=("inputs.tokens",), writes=("inputs",)))) == []


def test_optional_ports_may_be_missing_from_the_file():
    optional = frozenset({"drafts", "ids"})
    ports = Ports(reads=("outputs", "drafts.tokens"), takes={"ids": "Ids"}, emits=True, optional=optional)
    assert faults(executor(reclaim=ports)) == []


def test_an_optional_buffer_that_is_there_must_agree():
    ports = Ports(reads=("outputs.logits",), emits=True, optional=frozenset({"outputs"}))
    (fault,) = faults(executor(reclaim=ports))
    assert "reads `outputs.logits`" in fault.message


def test_every_fault_is_reported_at_once():
    found = faults(
        executor(routes=("prefill",), capabilities=("mtp",), prepare=Ports(), release=Ports(emits=True))
    )
    assert [fault.code for fault in found] == ["LF501", "LF502", "LF502", "LF502", "LF503"]


def test_ports_and_sizes_that_make_no_sense_are_refused_where_they_are_written() -> None:
    with pytest.raises(TypeError, match=r"give a tuple, as in \('inputs',\)"):
        Ports(writes="inputs")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected `buffer`"):
        Ports(reads=("inputs tokens",))
    with pytest.raises(TypeError, match="a size is a whole number"):
        Executor({}, dims={"batch": "x"})  # type: ignore[dict-item]
