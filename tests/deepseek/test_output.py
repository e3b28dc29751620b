"""What is written of results: text in the order of the prompts, or JSON lines."""

import errno
import io
import json
import os

import pytest

from deepseek.engine import Event, Request
from deepseek.output import Output
from graph import StepError
from graph.cli.terminal import OutputError

REQUESTS = [Request((1, 2), 3), Request((3,), 3)]
EVENTS = [
    Event("1", 8, "x"),
    Event("0", 5, "a"),
    Event("1", 9, "y", "length"),
    Event("0", 6, ""),
    Event("0", 7, "bc", "stop"),
]


def written(events: list[Event], *, as_json: bool = False) -> tuple[str, Output]:
    stream = io.StringIO()
    output = Output(REQUESTS, as_json=as_json, stream=stream)
    for event in events:
        output.take(event)
    return stream.getvalue(), output


def test_text_of_a_later_request_waits_for_those_before_it() -> None:
    assert written(EVENTS[:4])[0] == "a"
    assert written(EVENTS)[0] == "abc\nxy\n"


def test_json_has_a_line_for_each_request_in_order() -> None:
    lines = [json.loads(line) for line in written(EVENTS, as_json=True)[0].splitlines()]
    assert lines == [
        {"request": 0, "prompt_ids": [1, 2], "output_ids": [5, 6, 7], "text": "abc", "finish": "stop"},
        {"request": 1, "prompt_ids": [3], "output_ids": [8, 9], "text": "xy", "finish": "length"},
    ]


def test_without_a_tokenizer_the_text_is_the_ids() -> None:
    events = [event._replace(text=None) for event in EVENTS]
    assert written(events)[0] == "5 6 7\n8 9\n"
    assert [json.loads(line)["text"] for line in written(events, as_json=True)[0].splitlines()] == [
        None,
        None,
    ]


def test_an_error_is_told_and_kept(capsys: pytest.CaptureFixture[str]) -> None:
    error = StepError("dispatch", 4, RuntimeError("on fire"))
    events = [Event("0", 5, "a"), Event("0", None, "", "error", error), *EVENTS[:1], EVENTS[2]]
    text, output = written(events, as_json=True)
    assert output.failed
    first, second = map(json.loads, text.splitlines())
    assert first["error"] == str(error)
    assert first["finish"] == "error"
    assert "error" not in second
    assert "request 0 failed: step 4 failed in `dispatch`" in capsys.readouterr().err


class Full(io.StringIO):
    def flush(self) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("as_json", [False, True])
def test_a_stream_that_takes_no_more_is_told_as_such(as_json: bool) -> None:
    output = Output(REQUESTS, as_json=as_json, stream=Full())
    with pytest.raises(OutputError, match="standard output cannot be written: No space left"):
        output.take(EVENTS[1])
