"""Objects and exceptions on their way to another process.

Whatever was raised arrives: itself where it can be pickled, else a `RemoteError` with its type, text and
traceback. The text of the traceback is in the notes of an exception that arrives as itself.
"""

from __future__ import annotations

import pickle
import traceback
from typing import Any

from graph.errors import LifecycleError, RemoteError, StepError


def pack(value: Any, what: str) -> bytes:
    """Pickled; raises `TypeError`, which says what `what` needs, where that cannot be."""
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # pickling runs the object's own code
        raise TypeError(
            f"{what} goes to a lane in another process and cannot be pickled: {error}; send plain data, or "
            f"make the lane a thread"
        ) from error


def unpack(payload: bytes) -> Any:
    return pickle.loads(payload)


def pack_error(error: BaseException, lane: str) -> bytes:
    """An exception with the traceback it has; never raises."""
    if isinstance(error, StepError):
        return pickle.dumps((StepError, error.node, error.step, _cause(error.cause, lane)))
    if isinstance(error, LifecycleError):
        return pickle.dumps((LifecycleError, error.node, error.phase, _cause(error.cause, lane)))
    return pickle.dumps((None, None, None, _cause(error, lane)))


def unpack_error(payload: bytes) -> Exception:
    kind, node, where, (pickled, stand_in, note) = pickle.loads(payload)
    try:
        cause = pickle.loads(pickled) if pickled is not None else stand_in
    except Exception:  # its module may be importable only over there
        cause = stand_in
    if note:
        cause.add_note(note)
    if kind is None:
        return cause if isinstance(cause, Exception) else RemoteError(type(cause).__name__, str(cause), "")
    error: Exception = kind(node, where, cause)
    return error


def _cause(error: BaseException, lane: str) -> tuple[bytes | None, RemoteError, str]:
    text = "".join(traceback.format_exception(error))
    note = f"in the process of lane `{lane}`:\n{text}"
    stand_in = RemoteError(f"{type(error).__module__}.{type(error).__qualname__}", _text(error), text)
    try:
        pickled = pickle.dumps(error)
        if type(pickle.loads(pickled)) is not type(error):
            return None, stand_in, ""
    except BaseException:  # of the exception's own code
        return None, stand_in, ""
    return pickled, stand_in, note


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(its text cannot be had)"
