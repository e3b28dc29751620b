"""When a run must go on with a bubble: a lagged node holds a step back and nothing more is submitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from graph.order import Arc


def bubbles_needed(
    done: Mapping[str, int],
    lag: Mapping[str, int],
    arcs: Sequence[Arc],
    entries: Sequence[str],
    arrived: int,
    works: Callable[[str, int], bool],
) -> int:
    """How many bubbles let a node work that nothing else holds back; 0 where none is called for.

    `done` has the turns that each node is through, `arrived` is how many turns have arrived, and `works(node,
    step)` says whether there is such a step and its route visits the node: where the step has failed, the
    node must still pass it before its ticket resolves. A bubble is called for only once all other waits of
    the node that it frees are met.
    """
    ready_now = _ready(done, lag, arcs, entries, arrived, works)
    for bubbles in range(1, max(lag.values(), default=0) + 1):
        if _ready(done, lag, arcs, entries, arrived + bubbles, works) - ready_now:
            return bubbles
    return 0


def _ready(
    done: Mapping[str, int],
    lag: Mapping[str, int],
    arcs: Sequence[Arc],
    entries: Sequence[str],
    arrived: int,
    works: Callable[[str, int], bool],
) -> set[tuple[str, int]]:
    """The firings with work whose waits are all met, once everything that is only passed has been passed."""
    through = dict(done)
    waits: dict[str, list[Arc]] = {node: [] for node in done}
    for arc in arcs:
        waits[arc.target].append(arc)
    entry = set(entries)

    def may_fire(node: str) -> bool:
        turn = through[node]
        if node in entry and turn - lag[node] >= arrived:
            return False
        return all(through[arc.source] > turn - arc.tokens for arc in waits[node])

    ready: set[tuple[str, int]] = set()
    moved = True
    while moved:
        moved = False
        for node in through:
            while may_fire(node) and (node, through[node]) not in ready:
                step = through[node] - lag[node]
                if step < arrived and works(node, step):
                    ready.add((node, through[node]))
                elif through[node] - lag[node] < arrived:
                    through[node] += 1
                    moved = True
                else:
                    break
    return ready
