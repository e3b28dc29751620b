"""When work on a CUDA stream began and ended, on the scale of `time.perf_counter_ns`. Not yet run on hardware.

CUDA tells how long it was from one event to another, as a float32 of milliseconds and by a clock that has a rate of
its own. So time is reckoned from each mark to the next, over which a float32 is exact to some nanoseconds, and held
between what the host knows of each: work begins after its launch, and has ended when it is seen to have ended. Between
the two, a clock that falls behind or hurries goes a little faster or slower; to set it would be a gap.
"""

from __future__ import annotations

from collections import deque

import torch

from graph.lanes.queue import Interval

SLEW = 1e-4
"""By how much the clock goes faster or slower, to come back. Clocks of quartz differ by less."""
LOOKS = 16
"""How late an end is seen at the least, among so many marks, is how far the clock is behind."""
NEAR_NS, FAR_NS = 50_000, 200_000
"""As far behind it is left alone: the soonest that an end can be expected to be seen."""


class CudaClock:
    """Used by the completion thread alone, mark by mark in order; `last` is the event that it reckons from."""

    def __init__(self, last: torch.cuda.Event, at: int) -> None:
        self.last, self._at = last, at
        self._rate = 1.0
        self._moved = 0.0
        """How far the clock has been moved forward in all."""
        self._late: deque[float] = deque(maxlen=LOOKS)
        """By how much each end was seen late, by the clock before it was moved at all."""

    def interval(
        self, begin: torch.cuda.Event | None, launched: int, end: torch.cuda.Event, seen: int
    ) -> Interval:
        """From `begin`, or the mark before, to `end`, which becomes `last`. Both events have been reached.

        The host launched the work not before `launched`, and saw `end` reached at `seen`. Raises what CUDA raises.
        """
        gap = 0 if begin is None else _nanoseconds(self.last, begin)
        work = round(_nanoseconds(self.last if begin is None else begin, end) * self._rate)
        earliest = self._at if begin is None else max(self._at, launched)
        began = max(self._at + gap, earliest)
        ended = min(began + work, seen)
        began = max(min(began, ended - work), min(earliest, ended))
        self._keep_pace(seen - ended, ended - self._at - gap - work / self._rate)
        self.last, self._at = end, ended
        return began, ended

    def _keep_pace(self, late: int, moved: float) -> None:
        """`late` is how late the end was seen; `moved` how far the clock has been moved forward for this mark."""
        self._moved += moved
        self._late.append(late + self._moved)
        behind = min(self._late) - self._moved
        self._rate = 1 + SLEW * ((behind > FAR_NS and len(self._late) == LOOKS) - (behind < NEAR_NS))


def _nanoseconds(one: torch.cuda.Event, other: torch.cuda.Event) -> int:
    return round(1e6 * float(one.elapsed_time(other)))
