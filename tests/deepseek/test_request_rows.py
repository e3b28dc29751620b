"""Rows answer to the generation that owns them, and to nobody else."""

import torch

from deepseek.request_rows import opened, owned, redirect, write_rows


def test_only_the_current_generation_owns_a_row() -> None:
    generations = torch.tensor([3, -2, 0], dtype=torch.int32)
    rows = torch.tensor([0, 0, 1, 2, 3, -1])
    wanted = torch.tensor([3, 2, 2, 0, 0, 3], dtype=torch.int32)
    assert owned(generations, rows, wanted).tolist() == [True, False, False, True, False, False]


def test_a_retired_or_older_generation_cannot_open_a_row_again() -> None:
    generations = torch.tensor([3, -2, 0], dtype=torch.int32)
    rows = torch.tensor([0, 0, 0, 1, 1, 2, 3, -1])
    wanted = torch.tensor([2, 3, 4, 2, 3, 1, 9, 9], dtype=torch.int32)
    assert opened(generations, rows, wanted).tolist() == [False, False, True, False, True, True, False, False]


def test_what_goes_to_the_scrap_row_is_dropped() -> None:
    field = torch.tensor([10, 11, 12])
    rows = redirect(torch.tensor([2, 0, 1]), torch.tensor([True, False, False]), 3)
    write_rows(field, rows, torch.tensor([7, 8, 9]))
    assert field.tolist() == [10, 11, 7]
