"""A lane in a process of its own, seen from the process of the run.

How it works:
- The child runs the very loop of `lanes.thread` over its part of the same program. It is spawned, makes the executor
  anew from `Executor.factory`, and starts only its lane's nodes.
- What lanes read and write together is in one nameless block of memory (`board`): how far each node is, whether the
  run is halted or starved, the tenants of slots, the slots, and the facts of each step on its way. Semaphores of
  `multiprocessing` take the place of locks on channels that touch the lane, so a step goes from lane to lane as
  directly as between threads, and a failure is there before the failing node signals.
- Down a pipe go announcements (step, bubble, end), values and failures from elsewhere; up a pipe come values,
  failures, results with their spans (one message a step; none where the step has a later node in this process, since
  it then has nothing to tell), and starving. Frames are marshalled, users' objects are
  pickled, in the call of the node or the `submit` that hands them over. Nobody waits while he writes: a thread here
  takes announcements off a queue, and both ends always read. Values from one child to another go through here.
- The thread of the lane here reads what comes up, and does what the lane would have done. The end of the pipe without
  a goodbye is the child's death: the run is halted, and the tickets on their way end with `LaneDied`.
- The child's own reader ends it at once where the pipe ends, which is when this process is no more. It ignores
  Ctrl-C: this process decides.
- Spans need no correction: `time.perf_counter_ns` is one clock for all processes of a machine.
"""

from __future__ import annotations

import marshal
import multiprocessing
import selectors
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

from graph.errors import LaneDied
from graph.lanes import child
from graph.lanes.carried import unpack_error
from graph.lanes.thread import NEVER, Shared
from graph.stepping import StepRecord

END_S = 5.0
"""How long a child that has said goodbye may take to end."""


@dataclass(frozen=True)
class Upcalls:
    """What the messages of a child lead to."""

    through: Callable[[int, int, bytes | None], None]
    """(turn, nodes, pickled result): so many nodes are through with the step."""
    spans: Callable[[list[tuple[Any, ...]]], None]
    value: Callable[[int, str, str, bytes], None]
    failed: Callable[[int, bytes], None]
    starve: Callable[[], None]
    unstarve: Callable[[], None]
    quarantined: Callable[[str, int, int], None]
    stop_fault: Callable[[Exception], None]
    """A node of the lane failed to stop, or a resource to close."""
    resources: Callable[[str, tuple[int, ...]], None]
    """How many objects of a buffer that lives there have been made and destroyed."""


class ProcessLane:
    """The child of one lane, and the two pipes to it. `start`, `serve` and `end` are for the lane's thread here."""

    def __init__(
        self,
        name: str,
        plan: Callable[[], child.Plan],
        shared: Shared,
        max_lag: int,
        command_of: Callable[[StepRecord], bytes | None],
    ) -> None:
        self.name = name
        self._plan = plan
        """Made only for the spawn: it holds semaphores."""
        self._shared, self._max_lag = shared, max_lag
        self._command_of = command_of
        self._announced = 0
        self._end_announced = False
        self._outgoing: SimpleQueue[bytes | None] = SimpleQueue()
        self._killed = False
        self._process: Any = None
        self._up: Connection | None = None

    # -- the lane's thread -----------------------------------------------------------------------------------

    def start(self) -> None:
        """Spawn the child and wait until its nodes have started; raises what kept them from it, or `LaneDied`."""
        context = multiprocessing.get_context("spawn")
        theirs_down, ours_down = context.Pipe(duplex=False)
        self._up, theirs_up = context.Pipe(duplex=False)
        self._process = context.Process(
            target=child.main,
            args=(self._plan(), theirs_down, theirs_up),
            name=f"laneflow-{self.name}",
            daemon=True,
        )
        with _interrupts_blocked():
            self._process.start()
        theirs_down.close()
        theirs_up.close()
        self._writer = threading.Thread(
            target=_write, args=(self._outgoing, ours_down), name=f"laneflow-{self.name}-writer", daemon=True
        )
        self._writer.start()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._up, selectors.EVENT_READ)
        self._selector.register(self._process.sentinel, selectors.EVENT_READ)
        if self._killed:
            self.kill()
        _, error = self._receive()  # "started"
        if error is not None:
            raise unpack_error(error)

    def serve(self, upcalls: Upcalls) -> None:
        """Do what the child's messages say until it says goodbye; raises `LaneDied`, and what the child died of."""
        act: dict[str, Callable[..., None]] = {
            "through": self._on_through(upcalls),
            "value": upcalls.value,
            "failed": upcalls.failed,
            "starve": upcalls.starve,
            "unstarve": upcalls.unstarve,
            "quarantined": upcalls.quarantined,
            "spans": upcalls.spans,
            "resources": upcalls.resources,
        }
        while True:
            kind, *content = self._receive()
            if kind == "goodbye":
                return
            if kind == "fault":
                raise unpack_error(content[0])
            if kind == "stop_fault":
                upcalls.stop_fault(unpack_error(content[0]))
            else:
                act[kind](*content)

    @staticmethod
    def _on_through(upcalls: Upcalls) -> Callable[..., None]:
        def through(turn: int, nodes: int, result: bytes | None, spans: list[tuple[Any, ...]]) -> None:
            upcalls.spans(spans)
            upcalls.through(turn, nodes, result)

        return through

    def end(self) -> None:
        """Leave neither process nor thread nor pipe."""
        if self._process is None or self._process.pid is None:
            return
        self._process.join(0 if self._killed else END_S)  # before its pipe ends, which would cut it short
        self._process.kill()
        self._process.join()
        self._outgoing.put(None)
        self._writer.join()
        self._selector.close()
        assert self._up is not None
        self._up.close()
        self._process.close()

    def _receive(self) -> Any:
        """The next message; raises `LaneDied` where there will be none."""
        assert self._up is not None
        while True:
            ready = {key.fileobj for key, _ in self._selector.select()}
            try:
                if self._up in ready or self._up.poll():
                    return marshal.loads(self._up.recv_bytes())
            except (EOFError, OSError):
                pass
            self._process.join()
            raise LaneDied(self.name, self._process.exitcode)

    # -- any thread ------------------------------------------------------------------------------------------

    def release(self) -> None:
        """Announce what has arrived: to the admission, the lane's bell.

        Turns may be announced twice, by two threads or after an interrupt, but none is left out; the child
        takes each once. Of the turns after the last step only the end is told: a lane that waits for one of
        them then knows where to stop.
        """
        shared = self._shared
        while (turn := self._announced) < min(shared.arrived, shared.last_turn - self._max_lag):
            record = shared.records.get(turn)
            if record is None:
                self._send("bubble", turn)
            else:
                rows = tuple((int(row), int(generation)) for row, generation in record.rows)
                command = self._command_of(record)
                self._send("step", turn, record.index, record.route, command, rows, record.submitted)
            self._announced = turn + 1
        if shared.last_turn != NEVER and not self._end_announced:
            self._send("end", shared.last_turn)
            self._end_announced = True

    def value(self, turn: int, producer: str, kind: str, payload: bytes) -> None:
        self._send("value", turn, producer, kind, payload)

    def failed(self, turn: int, payload: bytes) -> None:
        self._send("failed", turn, payload)

    def halt(self) -> None:
        """Wake the child's lane; the board says that it must end."""
        self._send("halt")

    def kill(self) -> None:
        """End a child that does not end by itself."""
        self._killed = True
        if self._process is not None and self._process.pid is not None:
            try:
                self._process.kill()
            except ValueError:
                return  # it has been closed

    @property
    def killed(self) -> bool:
        """Whether its death was our doing."""
        return self._killed

    def _send(self, *message: Any) -> None:
        self._outgoing.put(marshal.dumps(message))


def _write(outgoing: SimpleQueue[bytes | None], pipe: Connection) -> None:
    """Write what is queued until None; a reader that is gone is somebody else's concern."""
    with pipe:
        gone = False
        while (message := outgoing.get()) is not None:
            try:
                if not gone:
                    pipe.send_bytes(message)
            except OSError:
                gone = True


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """A child inherits what is blocked: Ctrl-C does not reach it before it can ignore it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
