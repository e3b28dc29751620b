"""How soon idle processors of the machine are back at work, by the kernel's quality of service for power management.

A lane that is woken waits for its processor to leave the idle state, 25 microseconds and more on virtual machines.
"""

from __future__ import annotations

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
            f"wake_latency_us={microseconds}: whole microseconds from 0, or None to ask for nothing"
        )
    try:
        requests = REQUESTS.open("wb", buffering=0)
    except OSError as error:
        raise _refused(microseconds, error) from error
    with requests:
        try:
            requests.write(struct.pack("=i", microseconds))
        except OSError as error:
            raise _refused(microseconds, error) from error
        yield


def _refused(microseconds: int, error: OSError) -> BindError:
    return BindError(
        f"wake_latency_us={microseconds}: the kernel takes no such request ({REQUESTS}: {error.strerror}): run as a "
        "user that may write there, or leave it out"
    )
