"""What was raised in one process arrives in another, as itself or as what it says."""

from __future__ import annotations

import pickle

import pytest

from graph import BindError, LaneDied, LifecycleError, RemoteError, StepError
from graph.lanes.carried import pack, pack_error, unpack, unpack_error
from graph.lanes.mailbox import ERROR, Mailbox
from tests.graph.lanes.acting import Failure, Stubborn


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:
        return caught


class Unreadable(Exception):
    def __str__(self) -> str:
        raise ValueError

    def __reduce__(self) -> str:
        raise ValueError


@pytest.mark.parametrize("kind", [StepError, LifecycleError])
def test_an_error_of_ours_keeps_what_it_says(kind: type[StepError] | type[LifecycleError]) -> None:
    error = kind("node", 3 if kind is StepError else "start", raised(Failure("why")))  # type: ignore[arg-type]
    found = unpack_error(pack_error(error, "device"))
    assert type(found) is kind
    assert str(found) == str(error)
    assert isinstance(found.__cause__, Failure)
    assert "in the process of lane `device`" in found.__cause__.__notes__[0]
    assert "raise error" in found.__cause__.__notes__[0]


@pytest.mark.parametrize(
    ("error", "text"),
    [(Stubborn(1, 2), "1 and 2"), (Failure(lambda: None), "lambda"), (Unreadable(), "cannot be had")],
)
def test_what_cannot_be_pickled_arrives_as_text(error: Exception, text: str) -> None:
    found = unpack_error(pack_error(raised(error), "device"))
    assert isinstance(found, RemoteError)
    assert found.type_name.endswith(type(error).__name__)
    assert text in found.text
    assert "raise error" in found.traceback_text


def test_what_is_no_exception_of_the_ordinary_kind_arrives_as_a_cause_or_as_text() -> None:
    step = unpack_error(pack_error(StepError("node", 0, raised(SystemExit(3))), "device"))
    assert isinstance(step.__cause__, SystemExit)
    assert isinstance(unpack_error(pack_error(raised(SystemExit(3)), "device")), RemoteError)


@pytest.mark.parametrize(
    "error",
    [LaneDied("device", -9), StepError("n", 1, Failure("x")), RemoteError("T", "t", "tb"), BindError("no")],
)
def test_errors_can_be_pickled_whole(error: Exception) -> None:
    found = pickle.loads(pickle.dumps(error))
    assert type(found) is type(error)
    assert str(found) == str(error)


def test_a_value_that_cannot_be_pickled_says_what_to_do() -> None:
    assert unpack(pack({"a": 1}, "the Tokens of `bind`")) == {"a": 1}
    with pytest.raises(TypeError, match="the Tokens of `bind` goes to a lane in another process"):
        pack(lambda: None, "the Tokens of `bind`")


def test_a_mailbox_keeps_the_first_message_of_a_key_until_it_is_forgotten() -> None:
    over = False
    box = Mailbox(lambda: over)
    box.put(3, ERROR, b"first")
    box.put(3, ERROR, b"second")
    assert box.wait(3, ERROR) == b"first"
    assert box.wait(3, ERROR) == b"first"
    box.forget(3)
    over = True
    assert box.wait(3, ERROR) is None
