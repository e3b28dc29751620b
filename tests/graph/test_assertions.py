"""`FIGURE OP NUMBER`, and nothing else."""

import pytest

from graph.assertions import AssertionFormError, parse

FIGURES = {"overlap.prepare": 1.0, "gap.median_ms": 0.25, "gap_true.median_ms": None, "steps": 60}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("overlap.prepare == 1", True),
        ("overlap.prepare != 1", False),
        ("gap.median_ms < 0.4", True),
        ("gap.median_ms<.25", False),
        ("gap.median_ms <= 2.5e-1", True),
        ("gap.median_ms > -1", True),
        ("steps >= 61", False),
        ("  steps  >=  +60. ", True),
    ],
)
def test_each_operator_compares(text: str, holds: bool) -> None:
    assert (parse(text).failure(FIGURES) is None) == holds


def test_a_failure_names_the_figure_and_its_value() -> None:
    assert parse("gap.median_ms < 0.1").failure(FIGURES) == "gap.median_ms < 0.1 fails: gap.median_ms is 0.25"


def test_what_was_not_measured_fails_whatever_is_asked_of_it() -> None:
    for text in ("gap_true.median_ms < 1", "gap_true.median_ms != 1"):
        assert parse(text).failure(FIGURES) == f"{text} fails: gap_true.median_ms was not measured"


def test_an_unknown_figure_is_an_error_with_the_nearest() -> None:
    with pytest.raises(
        AssertionFormError, match=r"no figure `gap\.medan_ms`; did you mean `gap\.median_ms`\?"
    ):
        parse("gap.medan_ms < 1").failure(FIGURES)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "steps",
        "steps ==",
        "steps = 1",
        "steps == one",
        "steps == nan",
        "steps == 1 == 1",
        "steps == 1; steps == 2",
        "1 < steps",
        "__import__('os') == 1",
        "steps + 1 == 61",
        "steps == 1e",
        "steps == 0x10",
        "steps == 1\nsteps == 2",
    ],
)
def test_everything_else_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(AssertionFormError, match="FIGURE OP NUMBER"):
        parse(text)
