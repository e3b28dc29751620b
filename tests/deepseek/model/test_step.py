"""Slots follow from positions; what must not be seen goes to scrap."""

import pytest
import torch

from deepseek.model.step import Spans, Step
from deepseek.state import Caches
from tests.deepseek.references import model

CACHES = Caches.allocate(model("a").config, capacity=9, context=18, page=6, pages=20, device="meta")
SCRAP, SCRAP_PAGE = 9, 20
PAGES = torch.tensor([[7, 3, SCRAP_PAGE], [1, 11, 2], [5, SCRAP_PAGE, SCRAP_PAGE]])


def step(starts: list[int], lengths: list[int], width: int, pages: torch.Tensor = PAGES) -> Step:
    count = len(starts)
    spans = Spans(torch.tensor(starts), torch.arange(count), torch.tensor(lengths), pages[:count])
    return Step(spans, width, CACHES)


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
    windows = step([2, 3, 4], [1, 1, 1], 1).windows(4, 2)
    assert windows.index.tolist() == [[0], [0], [1]]
    assert windows.write_page.tolist() == [[SCRAP_PAGE], [1], [SCRAP_PAGE]]


def test_entry_goes_to_its_block_and_to_scrap_where_there_is_none() -> None:
    """Pages of two entries; the first request has two pages, the second three: entries 0 to 3 and 0 to 5."""
    windows = step([12, 20], [8, 8], 8).windows(4, 2)
    assert windows.index.tolist() == [[3, 4], [5, 6]]
    assert windows.write_page.tolist() == [[3, SCRAP_PAGE], [2, SCRAP_PAGE]]
    assert windows.write_slot.tolist() == [[1, 0], [1, 0]]


def test_entry_is_visible_from_the_row_that_closes_its_window() -> None:
    assert step([2], [3], 3).entries(4, 2).visible[0, :, :2].tolist() == [
        [False, False],
        [True, False],
        [True, False],
    ]


def test_padding_sees_no_entry_that_does_not_exist() -> None:
    assert not step([2], [1], 3).entries(4, 2).visible.any()


def test_no_entry_exists_in_a_page_that_the_request_does_not_have() -> None:
    entries = step([19, 19, 19], [1, 1, 1], 1).entries(4, 2)
    assert entries.written.sum(1).tolist() == [4, 5, 2]
    assert entries.visible.sum(2).tolist() == [[4], [5], [2]]


def test_entries_are_read_and_picked_through_the_table() -> None:
    """What is not there is zero, whatever memory holds."""
    cache = torch.full((SCRAP_PAGE + 1, 2, 1), torch.nan)
    cache[torch.tensor([7, 3])] = torch.tensor([[[1.0], [2.0]], [[3.0], [4.0]]])
    entries = step([13], [2], 2).entries(4, 2)
    assert entries.read(cache).flatten().tolist() == [1, 2, 3, 0, 0, 0]
    picks = torch.tensor([[[2, 0], [1, 5]]])
    seen = entries.visible.gather(2, picks)
    assert entries.pick(cache, picks, seen).flatten().tolist() == [3, 1, 2, 0]


def test_table_has_a_place_for_every_block() -> None:
    with pytest.raises(ValueError, match="a table of 2 pages per request for caches of 3 blocks"):
        step([0], [1], 1, PAGES[:, :2])


def test_rejected_rows_of_the_step_before_are_in_no_window() -> None:
    """Window 3, ring of 5: a step at 4, 5, 6 of which only 4 holds leaves 5 and 6 in slots 0 and 1."""
    assert step([5], [3], 3).window_held(5, 3).tolist() == [[False, False, False, True, True]]


def test_closing_window_finds_its_rows_in_the_ring_and_among_the_new() -> None:
    """Positions 4..7 close at 7 in a pass over 6..8; a ring of 9 is followed by the new rows."""
    assert step([6], [3], 3).raw_index(4, 0, 9)[0].tolist() == [[4, 5, 9, 10]]
    assert step([6], [3], 3).raw_index(4, 1, 9)[0].tolist() == [[0, 1, 2, 3]]
