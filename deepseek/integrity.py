"""Whether an engine at rest has given everything back."""

from __future__ import annotations

from collections.abc import Iterable

from deepseek.plan import Plan
from deepseek.scheduling import Scheduler
from deepseek.tenancy import Tenancy
from graph.errors import InternalError

NAMED = 8
"""How many of the things that are left a message names."""


def check_rest(in_flight: Iterable[Plan], scheduler: Scheduler, rows_taken: int) -> None:
    """Raise `InternalError` that names each step, request, row and page that is left.

    `rows_taken` are those of the run, without the rows that the scheduler has withdrawn.
    """
    held = [*scheduler.active.values(), *scheduler.leaving.values()]
    left = [f"a step of route `{plan.route}`" for plan in in_flight]
    left += [f"request `{entry.id}`, which waits" for entry in scheduler.waiting.values()]
    left += [_names(stay) for stay in held]
    pages = set(scheduler.pages_taken).difference(*(stay.pages for stay in held))
    left += [f"page {page}, which nobody has" for page in sorted(pages)]
    lost = rows_taken - len(held)
    left += [f"{lost} rows that nobody has"] if lost else []
    if left:
        more = f" and {len(left) - NAMED} more" if len(left) > NAMED else ""
        named = ", ".join(left[:NAMED])
        raise InternalError(f"the engine is at rest and still has {named}{more}; please report it")


def _names(stay: Tenancy) -> str:
    return f"row {stay.row.row} and pages {stay.pages[:NAMED]} of request `{stay.entry.id}`"
