from __future__ import annotations

from graph.diagnostics import Firing
from graph.render.timeline import timeline


def rows(firings: list[Firing], width: int = 46) -> list[str]:
    return timeline(["host", "device"], firings, width)


def test_a_firing_is_as_wide_as_it_is_long_and_starts_where_it_starts() -> None:
    assert rows([Firing("prepare", 0, "host", 0, 10), Firing("dispatch", 0, "device", 10, 40)], 48) == [
        "ms      0         10        20        30",
        "host    prepare0--",
        "device            dispatch0---------------------",
    ]


def test_a_name_without_room_is_cut_to_a_prefix_of_its_own_or_less() -> None:
    firings = [
        Firing("reclaim", 0, "host", 0, 2),
        Firing("release", 0, "host", 2, 8),
        Firing("release", 1, "host", 9, 9.1),
        Firing("dispatch", 0, "device", 0, 38),
    ]
    assert rows(firings)[1] == "host    rerel0-- r"


def test_a_firing_shorter_than_a_column_is_still_there() -> None:
    firings = [Firing("prepare", 0, "host", 0, 0.01), Firing("bind", 0, "host", 0.01, 0.02)]
    assert rows([*firings, Firing("dispatch", 0, "device", 0.02, 100)])[1] == "host    pb"


def test_what_takes_no_time_is_not_drawn() -> None:
    assert rows([Firing("prepare", 0, "host", 3, 3), Firing("dispatch", 0, "device", 3, 10)])[1] == "host"
    assert rows([Firing("prepare", 0, "host", 0, 0)]) == []


def test_no_row_is_wider_than_asked() -> None:
    many = [Firing("dispatch", step, "device", step * 3, step * 3 + 3) for step in range(100)]
    assert max(map(len, rows(many, 60))) <= 60


def test_every_lane_has_its_row_in_the_order_of_the_file() -> None:
    assert [row.split()[0] for row in rows([Firing("dispatch", 0, "device", 0, 1)])] == [
        "ms",
        "host",
        "device",
    ]
