"""One node's call on a step of a stream lane: launched on the lane's queue, settled once the queue is past it."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

from graph.errors import DeviceLost, Overtaken, StepError, Unfinished
from graph.firing import Firing
from graph.lanes.queue import Interval, Mark, Queue
from graph.stepping import StepRecord


@dataclass(eq=False)
class Call:
    """One launched call. The lane's thread fills it in, then the completion thread has it."""

    firing: Launching
    record: StepRecord
    after_failure: bool
    """A release node on a step that had failed before."""
    came: int
    start: int = 0
    result: Any = None
    failure: StepError | None = None
    """What the node raised as it launched."""
    mark: Mark | None = None
    """None where nothing has been launched, or where no mark could be recorded."""
    error: BaseException | None = None
    """Of the mark that could not be recorded."""
    device: int = -1

    @property
    def lost(self) -> DeviceLost | None:
        """Where launching it has shown that the device is lost."""
        cause = None if self.failure is None else self.failure.cause
        return next((error for error in (self.error, cause) if isinstance(error, DeviceLost)), None)


class Launching(Firing):
    """`take` and `launch` are called on the lane's thread, the rest on its completion thread.

    A step that is launched holds its slots, and what it wrote counts as written only once it is settled.
    """

    __slots__ = ("backs",)

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        values = (back for sources in self.step.takes for _, back, _ in sources)
        self.backs = {*values, *(use.back for use in self.uses)} - {0}
        """How many steps back it looks."""

    def take(self, record: StepRecord, came: int) -> Call | None:
        """Acquire what the node acquires; None where it is passed, since the step has failed."""
        if not record.started:
            record.start()
        failed = record.error is not None
        if not failed:
            for tenant, count in self.acquires:
                tenant[record.turn % count] = record.turn
        elif not self.is_release:
            return None
        return Call(self, record, failed, came)

    def launch(self, call: Call, queue: Queue) -> None:
        """Run the node, which only launches, and record a mark behind what it has put on the queue."""
        record, turn, step = call.record, call.record.turn, self.step
        step._record, step.device = record, -1
        call.start = perf_counter_ns()
        try:
            views = self.views
            slots = (
                views.after_failure(turn, record.all_written()) if call.after_failure else views.at_turn(turn)
            )
            with queue.launching():
                call.result = self._guarded_launch(slots, queue) if self.checked else self.call(step, slots)
        except BaseException as error:
            call.failure = self._failed(record, error)
        call.device = step.device
        try:
            call.mark = queue.mark()
            if call.mark is None:
                call.error = Unfinished("no mark: the queue's `mark` returned None")
        except BaseException as error:
            call.error = error if isinstance(error, Unfinished) else Unfinished(f"no mark: {error!r}")

    def refuse(self, call: Call, error: BaseException) -> None:
        """Fail the step without a call: its device is lost."""
        call.start = perf_counter_ns()
        call.failure = self._failed(call.record, error)

    def spoil(self, call: Call, failed: StepRecord) -> None:
        """A step that this call reads from has failed after the call was launched."""
        self._failed(
            call.record, Overtaken(f"`{self.node}` had been launched when step {failed.index} failed")
        )

    def settle(self, call: Call, error: BaseException | None, since: int) -> int:
        """The queue is past the call, or has failed at it: publish what it made, give back what it releases.

        `since` is when the call before ended on the queue; returns when this one did.
        """
        record = call.record
        failure = call.failure
        if error is not None:
            failure = self._failed(record, error)
        elif failure is None and (record.error is None or call.after_failure):
            failure = self._publish(call)
        elif failure is None:  # the step has failed since: as if the node had been passed
            for kind in self.step.gives:
                record.values.pop((self.node, kind), None)
        interval: Interval | None = None
        if call.mark is not None and not isinstance(error, Unfinished):
            try:
                interval = call.mark.interval()
            except Exception as raised:
                failure = failure or self._failed(record, raised)
        for pool, tenant, count in self.releases:
            slot = record.turn % count
            if tenant[slot] == record.turn:
                self._give_back(pool, slot, record)
        start, end = self._when(call, interval, since, isinstance(error, Unfinished))
        if self.spans is not None:
            self._note(call, start, end, interval is not None, failure)
        return end

    def _publish(self, call: Call) -> StepError | None:
        record = call.record
        try:
            if self.emits:
                record.result = call.result
            if self.share is not None:
                self.share(record)
        except BaseException as error:
            return self._failed(record, error)
        record.written.extend(self.writes)
        return None

    @staticmethod
    def _when(call: Call, interval: Interval | None, since: int, unfinished: bool) -> Interval:
        """As the device's clock tells, else from the launch, behind the call before, to what Python saw of the end.

        Of a call that was not proved to have ended no time is known: the queue may have gone on long ago.
        """
        if interval is None:
            start = max(call.start, since)
            return start, start if unfinished else max(start, perf_counter_ns())
        start = max(call.start, interval[0])
        return start, max(start, interval[1])

    def _note(self, call: Call, start: int, end: int, by_clock: bool, failure: StepError | None) -> None:
        record, device = call.record, call.device
        if by_clock and device < 0:
            device = end - start
        self.fired += 1
        assert self.spans is not None
        self.spans.append(  # the fields of a `Span`
            (
                self.node,
                record.index,
                record.turn,
                record.route,
                self.lane,
                record.submitted,
                call.came,
                start,
                end,
                device,
                record.rows,
                None if failure is None else str(failure),
            )
        )

    def _guarded_launch(self, slots: Any, queue: Queue) -> Any:
        from graph.checked import guarded_launch

        return guarded_launch(self.implementation.run, self.step, slots, self.views, queue)
