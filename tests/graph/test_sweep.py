from __future__ import annotations

import pytest

from graph import load
from graph.sweep import MOST_CHOICES, axis, choices

PINGPONG = load("pingpong")


def test_a_range_has_both_its_ends() -> None:
    assert axis("in_flight=2..4", PINGPONG) == ("in_flight", ("in_flight",), ("2", "3", "4"))


def test_a_list_may_have_ranges_and_words() -> None:
    assert axis("buffers.inputs.slots=1, 4..5 ,9", PINGPONG).values == ("1", "4", "5", "9")
    assert axis("lanes.host.worker=thread,process", PINGPONG).values == ("thread", "process")


def test_commas_in_brackets_do_not_part_values() -> None:
    found = axis("lanes.host=[prepare, bind],{nodes: [bind, prepare], worker: stream}", PINGPONG)
    assert found.values == ("[prepare, bind]", "{nodes: [bind, prepare], worker: stream}")


def test_a_wildcard_stands_for_every_buffer_that_has_slots() -> None:
    slots = [name for name, buffer in PINGPONG.buffers.items() if not buffer.persistent]
    assert axis("buffers.*.slots=1,2", PINGPONG).paths == tuple(f"buffers.{name}.slots" for name in slots)


def test_a_wildcard_elsewhere_stands_for_every_name() -> None:
    assert axis("lanes.*.worker=thread", PINGPONG).paths == tuple(
        f"lanes.{lane}.worker" for lane in PINGPONG.lanes
    )
    assert axis("costs.*=1", PINGPONG).paths == ("costs.prepare", "costs.dispatch", "costs.reclaim")
    assert axis("buffers.*puts.place=host", PINGPONG).paths == (
        "buffers.inputs.place",
        "buffers.outputs.place",
    )


def test_one_axis_gives_all_its_paths_the_same_value() -> None:
    both = axis("buffers.*puts.slots=1,2", PINGPONG)
    assert [choice.overrides for choice in choices([both])] == [
        ("buffers.inputs.slots=1", "buffers.outputs.slots=1"),
        ("buffers.inputs.slots=2", "buffers.outputs.slots=2"),
    ]


def test_axes_are_combined_the_last_fastest() -> None:
    found = choices([axis("in_flight=1,2", PINGPONG), axis("costs.dispatch=5,6", PINGPONG)])
    assert [tuple(choice.settings.values()) for choice in found] == [
        ("1", "5"),
        ("1", "6"),
        ("2", "5"),
        ("2", "6"),
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("in_flight", "is not PATH=VALUES"),
        ("=3", "is not PATH=VALUES"),
        ("in_flight=", "is not PATH=VALUES"),
        ("in_flight=,", "is not PATH=VALUES"),
        ("in_flight=4..2", "is empty"),
        ("in_flight=1..900000", "more than"),
        ("*.inputs.slots=1", "stands for a name"),
        ("buffers.inputs.*=1", "stands for a name"),
        ("bufers.*.slots=1", "stands for a name"),
        ("buffers.x*.slots=1", "matches nothing; buffers has inputs, outputs"),
    ],
)
def test_what_is_no_axis_is_told(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        axis(text, PINGPONG)


def test_too_many_choices_are_refused() -> None:
    with pytest.raises(ValueError, match=str(MOST_CHOICES)):
        choices([axis("in_flight=1..200", PINGPONG), axis("costs.dispatch=1..200", PINGPONG)])
