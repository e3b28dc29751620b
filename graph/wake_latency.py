"""How soon idle processors of the machine are back at work, by the kernel's quality of service for power management.

A lane that is woken waits for its processor to leave the idle state, 25 microseconds and more on virtual machines.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graph.errors import BindError

REQUESTS = Path("/dev/cpu_dma_latency")
"""Takes a latency in microseconds as four bytes; the request holds while the file is open, so it ends with us."""
LONGEST_US = 2_000_000_000
"""What the kernel takes for no limit."""


@contextmanager
def waking_within(microseconds: int | None) -> Iterator[None]:
    """Have every processor of the machine wake from idle within this time; at 0 idle ones poll. None asks nothing.

    The shortest of all live requests holds. Raises `BindError` where the kernel does not take it, and `ValueError` for
    what is no such time.
    """
    if microseconds is None:
        yield
        return
    if type(microseconds) is not int or not 0 <= microseconds <= LONGEST_US:
        raise ValueError(
            f"wake_latency_us={microseconds!r}: whole microseconds from 0 to {LONGEST_US}, or None"
        )
    try:
        requests = os.open(REQUESTS, os.O_WRONLY | os.O_CLOEXEC)  # never made: then it would be no request
    except OSError as error:
        raise _refused(microseconds, error) from error
    try:
        try:
            os.write(requests, _packed(microseconds))
        except OSError as error:
            raise _refused(microseconds, error) from error
        try:
            yield
        finally:
            os.write(requests, _packed(LONGEST_US))  # a forked process may have the file open too
    finally:
        os.close(requests)


def _packed(microseconds: int) -> bytes:
    return struct.pack("=i", microseconds)


def _refused(microseconds: int, error: OSError) -> BindError:
    return BindError(
        f"wake_latency_us={microseconds}: the kernel takes no such request ({REQUESTS}: {error.strerror}): run as a "
        "user that may write there, or leave it out"
    )
