"""One JSON array, one object a diagnostic, with the field names that the language fixes."""

from __future__ import annotations

import json
from collections.abc import Sequence

from graph.render.outcome import Outcome, every_diagnostic


def render(outcomes: Sequence[Outcome]) -> str:
    """The document; `[]` where everything is sound."""
    return json.dumps([diagnostic.as_dict() for diagnostic in every_diagnostic(outcomes)], indent=2)
