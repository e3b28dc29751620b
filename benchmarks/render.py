"""The results as a Markdown table, as one screen of text, and as JSON with every call."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from benchmarks.figures import Figures, bound, over_rounds, ratio
from benchmarks.rounds import SLOTS, Results, all_peers
from benchmarks.workloads import Workload
from graph import Topology
from graph.render.table import table

REFERENCE = "threads"
"""The peer that the others are compared with: hand-written threads."""
HEADINGS = (
    "peer",
    "period, ms",
    "gap_py, µs",
    "p99",
    "gap_true, µs",
    "step, µs",
    "× hand-written",
    "× bound",
)


@dataclass(frozen=True)
class Row:
    """A peer on a workload: medians over the rounds, and ratios of one round each, their median taken."""

    peer: str
    title: str
    rounds: int
    figures: Figures
    to_reference: float | None
    """Of the period, or of the time per step where the device takes none."""
    to_bound: float | None


@dataclass(frozen=True)
class Block:
    """A workload, the shortest period first."""

    workload: Workload
    bound_ms: float
    limit: str
    """What sets the bound, in words."""
    rows: tuple[Row, ...]


def blocks(found: Results, workloads: Sequence[Workload], topology: Topology) -> list[Block]:
    """One for each workload on which a peer ran."""
    return [
        _block(found, workload, topology)
        for workload in workloads
        if any(name == workload.name for name, _ in found.runs)
    ]


def _block(found: Results, workload: Workload, topology: Topology) -> Block:
    runs = {peer: rounds for (name, peer), rounds in found.runs.items() if name == workload.name}
    prediction = bound(topology, workload, [one for rounds in runs.values() for one in rounds.values()])
    least = float(prediction.period)
    titles = all_peers()

    def main(one: Figures) -> float:
        return one.period if least else one.step

    rows = []
    for peer, rounds in runs.items():
        medians = over_rounds(list(rounds.values()))
        to_reference = ratio(rounds, runs.get(REFERENCE, {}), main)
        rows.append(
            Row(
                peer,
                titles[peer],
                len(rounds),
                medians,
                to_reference,
                main(medians) / least if least else None,
            )
        )
    rows.sort(key=lambda row: main(row.figures))
    return Block(workload, least, prediction.limit.text, tuple(rows))


def _cells(row: Row) -> list[str]:
    one = row.figures
    micro = [one.gap_py * 1e3, one.gap_py_p99 * 1e3, one.gap_true * 1e3, one.step * 1e3]
    ratios = [f"{value:.3f}" if value is not None else "-" for value in (row.to_reference, row.to_bound)]
    return [
        row.title,
        f"{one.period:.3f}",
        *(f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" for value in micro),
        *ratios,
    ]


def _head(block: Block) -> str:
    least = f"; bound {block.bound_ms:.3f} ms: {block.limit}" if block.bound_ms else ""
    return f"{block.workload.name}: {block.workload.summary}{least}"


def _remarks(found: Results) -> list[str]:
    titles = all_peers()
    absent = [f"{titles[peer]} cannot run here: {reason}" for peer, reason in found.unavailable.items()]
    return absent + found.failed


def _about(machine: Mapping[str, str], rounds: int) -> str:
    facts = ", ".join(f"{name} {value}" for name, value in machine.items())
    return f"{rounds} interleaved rounds, a fresh process each, {SLOTS} slots; {facts}"


def markdown(found: Results, shown: Sequence[Block], machine: Mapping[str, str], rounds: int) -> str:
    """A table for each workload."""
    lines = [_about(machine, rounds), ""]
    for block in shown:
        lines += [f"**{_head(block)}**", ""]
        lines += [f"| {' | '.join(HEADINGS)} |", f"|---|{'---:|' * (len(HEADINGS) - 1)}"]
        lines += [f"| {' | '.join(_cells(row))} |" for row in block.rows]
        lines.append("")
    lines += [f"- {remark}" for remark in _remarks(found)]
    return "\n".join(lines).rstrip() + "\n"


def screen(found: Results, shown: Sequence[Block], machine: Mapping[str, str], rounds: int) -> str:
    """The same in columns, for a terminal."""
    lines = [_about(machine, rounds)]
    for block in shown:
        lines += ["", _head(block), *table(HEADINGS, [_cells(row) for row in block.rows])]
    return "\n".join([*lines, *_remarks(found)])


def as_json(found: Results, shown: Sequence[Block], machine: Mapping[str, str], rounds: int) -> str:
    """Everything: the figures, and of every run the calls as [start, end, own], in nanoseconds."""
    return json.dumps(
        {
            "machine": machine,
            "rounds": rounds,
            "slots": SLOTS,
            "workloads": [asdict(block) for block in shown],
            "unavailable": found.unavailable,
            "failed": found.failed,
            "product_size": found.size,
            "runs": found.raw,
        }
    )
