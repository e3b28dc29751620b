"""Counting drafts as decoding meets them, and repetition."""

import torch

from deepseek.bundled import PATH
from deepseek.bundled.acceptance import Greedy, judge
from deepseek.bundled.passes import continue_greedily, logits_of_both
from deepseek.checkpoint import load_model


def test_a_right_draft_skips_the_one_after_it() -> None:
    # Behind tokens 5, 6: drafts for places 3 and 5 are made at 1 and 3, that at 2 never is.
    assert judge([5, 6, 7, 8, 9, 9], [0, 8, 0, 9], start=2) == [True, True]


def test_a_wrong_draft_skips_none() -> None:
    assert judge([5, 6, 7, 8, 9], [0, 1, 9], start=2) == [False, True]


def test_drafts_within_the_prompt_are_not_counted() -> None:
    assert judge([5, 6, 7, 8], [7, 8], start=3) == []


def test_distinct_runs_are_counted_within_each_continuation() -> None:
    assert Greedy([[1, 2, 1, 2, 1], [1, 2, 3, 4, 5]], []).distinct(2) == (2 + 4) / 8


def test_continuing_step_by_step_agrees_with_one_whole_pass() -> None:
    model = load_model(PATH, capacity=1, context=16, rows_per_step=2)
    ids = continue_greedily(model, torch.tensor([[0, 86, 106, 103], [0, 67, 34, 110]] * 2), 40)
    main, _ = logits_of_both(model, ids)
    best = main[:, 3:].max(-1).values - main[:, 3:].gather(-1, ids[:, 4:, None])[..., 0]
    assert best.max() < 1e-3
