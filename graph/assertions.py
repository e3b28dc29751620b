"""What a report must show: `FIGURE OP NUMBER`, as in `gap.median_ms < 0.4`; nothing else is understood."""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Callable
from typing import NamedTuple

from graph.figures import Figures

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
FORM = re.compile(
    r"\s*(?P<figure>[A-Za-z_][\w.]*)\s*(?P<operator>==|!=|<=|>=|<|>)\s*"
    r"(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*"
)


class AssertionFormError(ValueError):
    """An assertion cannot be understood, or names a figure that there is not."""


class Assertion(NamedTuple):
    """A figure, how it is compared, and with what."""

    figure: str
    operator: str
    number: float

    def __str__(self) -> str:
        return f"{self.figure} {self.operator} {self.number:g}"

    def failure(self, figures: Figures) -> str | None:
        """Why it does not hold; None where it does. Raises `AssertionFormError` for an unknown figure."""
        if self.figure not in figures:
            close = difflib.get_close_matches(self.figure, figures, 1)
            hint = f"did you mean `{close[0]}`?" if close else "`laneflow report --figures` lists them"
            raise AssertionFormError(f"no figure `{self.figure}`; {hint}")
        value = figures[self.figure]
        if value is None:
            return f"{self} fails: {self.figure} was not measured"
        if OPERATORS[self.operator](value, self.number):
            return None
        return f"{self} fails: {self.figure} is {value:.6g}"


def parse(text: str) -> Assertion:
    """Raises `AssertionFormError` where the text is not of the form."""
    match = FORM.fullmatch(text)
    if match is None:
        raise AssertionFormError(
            f"`{text}` is not of the form FIGURE OP NUMBER, as in `gap.median_ms < 0.4`; OP is one of "
            f"{' '.join(OPERATORS)}"
        )
    return Assertion(match["figure"], match["operator"], float(match["number"]))
