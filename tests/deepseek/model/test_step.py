"""Slots follow from positions; what must not be seen goes to scrap."""

import torch

from deepseek.model.step import Step

SCRAP = 9


def step(starts: list[int], lengths: list[int], width: int) -> Step:
    return Step(torch.tensor(starts), torch.arange(len(starts)), torch.tensor(lengths), width, SCRAP)


def test_ring_slot_holds_the_latest_position_that_maps_to_it() -> None:
    assert step([0, 2, 7], [1, 1, 1], 1).ring(4).held.tolist() == [
        [-4, -3, -2, -1],
        [0, 1, -2, -1],
        [4, 5, 6, 3],
    ]


def test_rows_that_the_same_pass_overwrites_go_to_scrap() -> None:
    """Two writes to one slot have no order on a GPU."""
    ring = step([3, 0], [5, 2], 6).ring(3)
    assert ring.write_row.tolist() == [[SCRAP, SCRAP, 0, 0, 0, SCRAP], [1, 1, *[SCRAP] * 4]]
    assert ring.write_slot[0].tolist() == [0, 1, 2, 0, 1, 2]


def test_each_row_sees_its_window_across_ring_and_new_rows() -> None:
    """Window 3, ring of 4: the row at 5 sees 3, 4, 5; the row at 6 sees 4, 5, 6."""
    mask = step([5], [2], 2).window_mask(4, 3)[0]
    assert mask[0].tolist() == [True, False, False, True, True, False]
    assert mask[1].tolist() == [True, False, False, False, True, True]


def test_window_closes_with_its_last_token_only() -> None:
    windows = step([2, 3, 4], [1, 1, 1], 1).windows(4, 10)
    assert windows.index.tolist() == [[0], [0], [1]]
    assert windows.write_row.tolist() == [[SCRAP], [1], [SCRAP]]


def test_entry_is_visible_from_the_row_that_closes_its_window() -> None:
    assert step([2], [3], 3).entries_visible(4, 2)[0].tolist() == [
        [False, False],
        [True, False],
        [True, False],
    ]


def test_padding_sees_no_entry_that_does_not_exist() -> None:
    assert step([2], [1], 3).entries_visible(4, 2)[0].tolist() == [[False, False]] * 3


def test_closing_window_finds_its_rows_in_the_ring_and_among_the_new() -> None:
    """Positions 4..7 close at 7 in a pass over 6..8; a ring of 9 is followed by the new rows."""
    assert step([6], [3], 3).raw_index(4, 0, 9)[0].tolist() == [[4, 5, 9, 10]]
    assert step([6], [3], 3).raw_index(4, 1, 9)[0].tolist() == [[0, 1, 2, 3]]
