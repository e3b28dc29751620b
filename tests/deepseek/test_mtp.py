"""Drafts change how many steps decoding takes, never what it gives."""

import pytest

from tests.deepseek.mtp_product import Case, check, pairwise, product

PROMPTS, TOKENS = 5, 32


def test_the_pairwise_cover_shows_every_pair_of_choices() -> None:
    def pairs(cases: list[Case]) -> set[tuple[object, ...]]:
        return {(i, c[i], j, c[j]) for c in cases for i in range(len(c)) for j in range(i)}

    assert pairs(pairwise()) == pairs(product())


@pytest.mark.parametrize("case", pairwise(), ids=lambda case: "-".join(map(str, case)))
def test_greedy_output_with_drafts_is_that_without(case: Case) -> None:
    outcome = check(case, PROMPTS, TOKENS)
    assert outcome.faults == []
    if case.kind == "right":
        assert outcome.acceptance == 1
    elif case.kind == "wrong":
        assert outcome.acceptance == 0


@pytest.mark.slow
@pytest.mark.parametrize("case", product(), ids=lambda case: "-".join(map(str, case)))
def test_every_combination(case: Case) -> None:
    assert check(case, 16, 512).faults == []
