"""A reader of Chrome trace files of its own: it knows the published format and nothing of how laneflow writes it."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

NUMBER, COUNT, TEXT = {"type": "number"}, {"type": "integer"}, {"type": "string"}
WHERE = {"pid": COUNT, "tid": COUNT}


def _event(ph: str, required: list[str], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["ph", "name", "pid", "tid", *required],
        "properties": {
            "ph": {"const": ph},
            "name": TEXT,
            "cat": TEXT,
            "args": {"type": "object"},
            **WHERE,
            **properties,
        },
        "additionalProperties": False,
    }


FORMAT = {
    "type": "object",
    "required": ["traceEvents"],
    "properties": {
        "displayTimeUnit": {"enum": ["ms", "ns"]},
        "metadata": {"type": "object"},
        "traceEvents": {
            "type": "array",
            "items": {
                "oneOf": [
                    _event("X", ["cat", "ts", "dur"], ts=NUMBER, dur={"type": "number", "minimum": 0}),
                    _event("M", ["args"]),
                    _event("s", ["cat", "id", "ts"], id=COUNT, ts=NUMBER),
                    _event("f", ["cat", "id", "ts"], id=COUNT, ts=NUMBER, bp={"const": "e"}),
                ]
            },
        },
    },
    "additionalProperties": False,
}
"""The JSON object format, with the kinds of event that laneflow uses."""


@dataclass(frozen=True)
class Slice:
    track: tuple[int, int]
    name: str
    category: str
    start: float
    end: float
    args: dict[str, Any]


@dataclass(frozen=True)
class File:
    """A trace file by track. Times are microseconds."""

    slices: list[Slice]
    arrows: list[tuple[str, dict[str, Any], dict[str, Any]]]
    """Name, the event at the start, the event at the end."""
    tracks: dict[tuple[int, int], str]
    processes: dict[int, str]

    def on(self, name: str, pid: int | None = None) -> list[Slice]:
        """The slices of the track of that name, in order."""
        tracks = [track for track, its in self.tracks.items() if its == name and pid in (None, track[0])]
        return sorted(
            (one for one in self.slices if one.track in tracks), key=lambda one: (one.start, one.end)
        )

    def at(self, event: dict[str, Any]) -> Slice:
        """The slice that encloses the end of an arrow: of those on its track the one that starts last."""
        around = [
            one
            for one in self.slices
            if one.track == (event["pid"], event["tid"]) and one.start <= event["ts"] <= one.end
        ]
        assert around, f"an arrow ends beside every slice: {event}"
        return max(around, key=lambda one: (one.start, one.end))


def open_file(path: Path) -> File:
    """The file, after all checks that need no knowledge of what was run."""
    document = json.loads(path.read_text())
    Draft202012Validator(FORMAT).validate(document)
    events = document["traceEvents"]
    names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    tracks = {
        (event["pid"], event["tid"]): event["args"]["name"]
        for event in events
        if event["name"] == "thread_name"
    }
    slices = [
        Slice((e["pid"], e["tid"]), e["name"], e["cat"], e["ts"], e["ts"] + e["dur"], e.get("args", {}))
        for e in events
        if e["ph"] == "X"
    ]
    _check_nesting(slices)
    assert {one.track for one in slices} <= tracks.keys(), "a slice on a track without a name"
    return File(slices, _arrows(events), tracks, names)


def _check_nesting(slices: list[Slice]) -> None:
    """On one track two slices are apart or one holds the other."""
    by_track: dict[tuple[int, int], list[Slice]] = defaultdict(list)
    for one in slices:
        by_track[one.track].append(one)
    for own in by_track.values():
        open_ends: list[float] = []
        for one in sorted(own, key=lambda one: (round(one.start, 3), -round(one.end, 3))):
            while open_ends and open_ends[-1] <= round(one.start, 3):
                open_ends.pop()
            assert not open_ends or round(one.end, 3) <= open_ends[-1], (
                f"{one} crosses the end of another slice"
            )
            open_ends.append(round(one.end, 3))


def _arrows(events: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    starts = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    assert len(starts) == sum(event["ph"] == "s" for event in events), "two arrows have one id"
    assert starts.keys() == ends.keys(), "an arrow without start or end"
    for number, start in starts.items():
        assert (start["name"], start["cat"]) == (ends[number]["name"], ends[number]["cat"])
        assert start["ts"] <= ends[number]["ts"], "an arrow leads back in time"
    return [(start["name"], start, ends[number]) for number, start in starts.items()]
