"""How large a topology may be: larger than anybody writes, small enough that checking it takes seconds."""

import pytest

from graph.diagnostics import TopologyError
from graph.reading import load_text
from graph.topology import MAX_NODES


def text(nodes: int, buffers: int) -> str:
    """Each node on a lane of its own, writing one of some persistent buffers."""
    lines = ["types: {T: {x: 'int64[4]'}}", "buffers:"]
    lines += [f"  b{number}: {{type: T, persistent: true}}" for number in range(buffers)]
    lines += [
        "nodes:",
        *(f"  n{number}: {{kind: reclaim, writes: [b{number % buffers}]}}" for number in range(nodes)),
    ]
    lines += ["lanes:", *(f"  l{number}: [n{number}]" for number in range(nodes))]
    return "\n".join(lines)


def test_a_thousand_nodes_can_be_read() -> None:
    assert len(load_text(text(1000, 250)).nodes) == 1000


@pytest.mark.parametrize(
    ("nodes", "buffers", "says"),
    [(MAX_NODES + 1, 400, f"{MAX_NODES + 1} nodes"), (1000, 1, "`b0` alone has 1000")],
)
def test_what_would_take_minutes_to_check_is_refused(nodes: int, buffers: int, says: str) -> None:
    with pytest.raises(TopologyError, match=says) as caught:
        load_text(text(nodes, buffers))
    assert [one.code for one in caught.value.diagnostics] == ["LF001"]
