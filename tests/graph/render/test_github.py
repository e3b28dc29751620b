import re

import pytest

from graph.render.github import render
from tests.graph.render.samples import ALL, FAULTY, HOSTILE, SOUND, UNREADABLE

COMMAND = re.compile(r"::(?P<command>\w+) (?P<properties>[^:]*)::(?P<message>.*)")
ESCAPES = (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%"))


def parsed(line):
    """A workflow command as the runner reads it: properties end at the first `::`, split at commas."""
    match = COMMAND.fullmatch(line)
    assert match, line
    properties = dict(pair.split("=", 1) for pair in match["properties"].split(","))
    return match["command"], {k: unescaped(v) for k, v in properties.items()}, unescaped(match["message"])


def unescaped(text):
    for escape, character in ESCAPES:
        text = text.replace(escape, character)
    return text


def test_soundness_prints_nothing():
    assert render([SOUND]) == ""


def test_a_fault_annotates_its_line():
    command, properties, message = parsed(render([FAULTY]).split("\n")[0])
    assert command == "error"
    assert properties == {"file": "topologies/ring.yaml", "line": "3", "col": "5", "title": "LF205"}
    assert message.startswith("`reclaim` of step 0")
    assert message.endswith("\nhelp: add `reclaim -> release`")


@pytest.mark.parametrize(("index", "command"), [(0, "error"), (1, "warning"), (2, "notice")])
def test_severities_have_their_commands(index, command):
    assert parsed(render([FAULTY]).split("\n")[index])[0] == command


def test_every_diagnostic_and_crash_is_one_line_that_the_runner_can_read():
    lines = render(ALL).split("\n")
    assert [parsed(line)[1]["title"] for line in lines] == [
        "LF205",
        "LF303",
        "LF601",
        "LF003",
        "internal error",
    ]


def test_text_comes_back_as_it_was():
    _, properties, message = parsed(render([UNREADABLE]))
    assert properties["file"] == HOSTILE.location.file
    assert message == f"{HOSTILE.message}\nhelp: {HOSTILE.help}"
