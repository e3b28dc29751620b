"""Outcomes for the renderers: one of each kind, with text that every format must escape."""

from graph.diagnostics import Diagnostic, Firing, Location
from graph.render.outcome import Outcome

SCHEDULE = (
    Firing("prepare", 0, "host", 0, 1),
    Firing("dispatch", 0, "device", 1, 2),
    Firing("reclaim", 0, "output", 2, 5),
    Firing("release", 0, "device", 2, 3),
    Firing("prepare", 2, "host", 3, 4),
)
RACE = Diagnostic(
    Location("topologies/ring.yaml", 3, 5),
    "LF205",
    "`reclaim` of step 0 still reads `inputs` slot 0 when `prepare` of step 2 takes it",
    "add `reclaim -> release`",
    nodes=("reclaim", "prepare", "release"),
    buffer="inputs",
    route="default",
    schedule=SCHEDULE,
)
WARNING = Diagnostic(
    Location("topologies/ring.yaml", 9, 1), "LF303", "`in_flight` is never reached", severity="warning"
)
ADVICE = Diagnostic(
    Location("topologies/ring.yaml", 2, 1),
    "LF601",
    "2 slots would reach it",
    "give `inputs` 2 slots",
    "advice",
)
HOSTILE = Diagnostic(
    Location("a,b: c%/x\u00e9 <y>.yaml", 1, 2),
    "LF003",
    "100% of\r\n`\x1b[31m<&>\"'\x00\ud800` is nothing, ::error::",
    "first\nsecond",
)

SOUND = Outcome("topologies/sync.yaml")
FAULTY = Outcome("topologies/ring.yaml", (RACE, WARNING, ADVICE))
UNREADABLE = Outcome("a,b: c%/x\u00e9 <y>.yaml", (HOSTILE,))
CRASHED = Outcome("topologies/odd.yaml", crash="internal error at facts.py:1 in walk: KeyError: 'x'")
ALL = (SOUND, FAULTY, UNREADABLE, CRASHED)
