"""Executors that a child can make anew: nodes that call a function of this module.

Children import this module, so it imports little: what needs torch is in `driving`.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from graph.errors import Unfinished
from graph.node import Context, Executor, Ports
from graph.topology import Topology

Act = Callable[[str, Any, Any, Any], Any]
"""What a node does: called with its name, the step, the slots and the data. None as outcome stands for the step's
index."""


class Failure(Exception):
    """What the tests raise."""


class Stubborn(Exception):
    """Cannot be made again from what is pickled."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


@dataclass
class Actor:
    """A node that does what the function says. Data with `start` or `stop` names the node that fails in it."""

    name: str
    act: Act
    data: Any
    ports: Ports | None = None

    def start(self, context: Context) -> None:
        del context
        self._phase("start")

    def run(self, step: Any, slots: Any) -> Any:
        found = self.act(self.name, step, slots, self.data)
        return step.index if found is None else found

    def stop(self) -> None:
        self._phase("stop")

    def _phase(self, phase: str) -> None:
        if isinstance(self.data, Mapping) and self.data.get(phase) == self.name:
            raise Failure(phase)


def acting(topology: Topology, act: Act, data: Any = None) -> Executor:
    """The factory gives an equal one; data with `factory` makes it fail in the child."""
    nodes = {name: Actor(name, act, data) for name in topology.nodes}
    resources = {name: dict for name, kind in topology.types.items() if kind == "resource"}
    factory = partial(remade, os.getpid(), topology, act, data)
    return Executor(nodes, frozenset(topology.requires), resources, factory=factory)


def remade(parent: int, topology: Topology, act: Act, data: Any) -> Executor:
    if isinstance(data, Mapping) and os.getpid() != parent:
        if data.get("factory") == "fails":
            raise Failure("factory")
        if data.get("factory") == "exits":
            os._exit(7)
        if data.get("factory") == "lacks":
            return Executor({})
    return acting(topology, act, data)


def nothing(node: str, step: Any, slots: Any, data: Any) -> None:
    """A node without work."""


@dataclass
class Failing:
    """Which node fails at which step, and how often a call takes a little longer."""

    places: Mapping[int, str] = field(default_factory=dict)
    delays: float = 0.0


def fail(node: str, step: Any, slots: Any, data: Failing) -> None:
    del slots
    if random.random() < data.delays:
        time.sleep(random.random() * 0.0005)
    if data.places.get(step.index) == node:
        raise Failure(node)


def flow(node: str, step: Any, slots: Any, data: Mapping[int, str]) -> Any:
    """Hands tokens on; `data` says where a step fails. The result is what has arrived."""
    del slots
    found = None
    if node == "make":
        step.put("Tokens", ["tokens of", step.index])
    if node == "use":
        step.put("Note", step.index)
        found = ("use", step.get("Tokens"))
    if data.get(step.index) == node:
        raise Failure
    return found


def back(node: str, step: Any, slots: Any, data: Any) -> Any:
    """The note of the step before, and back again; step 2 fails after it has put its own."""
    del slots, data
    heard = step.get("Note")
    if node == "late":
        step.put("Note", ("before", heard))
        return None
    step.put("Note", step.index)
    if step.index == 2:
        raise Failure
    return heard


def look_back(node: str, step: Any, slots: Any, data: str) -> None:
    """Notes in the file `data` what the slot of the step before holds; step 2 fails."""
    if node == "make":
        before = slots.at(1).slot
        with open(data, "a") as file:
            file.write(f"{step.index}: {None if before is None else before.x.item()}\n")
        slots.slot.x.fill_(step.index)
        if step.index == 2:
            raise Failure


def cross(node: str, step: Any, slots: Any, data: frozenset[int]) -> Any:
    """Fills a slot, works on it, tells what is in it; the work of steps in `data` does not come to an end."""
    if node == "fill":
        slots.box.x.fill_(step.command)
    if node == "work":
        if step.index in data:
            slots.box.y.fill_(-1)
            raise Unfinished("the device is silent")
        slots.box.y.copy_(slots.box.x * 2 + slots.rows.seen[0])
    if node == "tell":
        slots.rows.seen[0] += 1
        return slots.box.y.tolist()
    return None


def release_tells(node: str, step: Any, slots: Any, data: str) -> None:
    """Step 1 fails at work; what `drop` sees of a failed step goes to the file `data`."""
    if node == "work" and step.index == 1:
        raise Failure("work")
    if node == "drop" and step.error is not None:
        with open(data, "a") as file:
            file.write(
                f"{step.index} {step.error.node} {step.error.cause!r} {slots.box.x.tolist()} {slots.box.y}\n"
            )


def awkward(node: str, step: Any, slots: Any, data: Any) -> Any:
    """Raises what the command says, or returns what cannot be pickled."""
    del slots, data
    what = step.command if node == "make" else None
    if what == "lambda":
        raise Failure(lambda: None)
    if what == "stubborn":
        raise Stubborn(1, 2)
    if what == "exit":
        raise SystemExit(3)
    if what == "deep":
        try:
            raise KeyError("the cause of it")
        except KeyError as error:
            raise Failure("on top") from error
    if node == "use" and step.index == 1:
        return lambda: None
    return None


def slow(node: str, step: Any, slots: Any, data: Mapping[str, float]) -> None:
    """Nodes take so many seconds."""
    del step, slots
    time.sleep(data.get(node, 0.0))


def slow_first(node: str, step: Any, slots: Any, data: Any) -> None:
    del slots, data
    time.sleep(0.2 if node == "make" and step.index == 0 else 0.0)


def ends_itself(node: str, step: Any, slots: Any, data: tuple[str, int, int]) -> None:
    """A node ends its process: by an exit code, or by the signal that a negative one stands for."""
    del slots
    where, index, code = data
    if node == where and step.index == index:
        if code < 0:
            os.kill(os.getpid(), signal.Signals(-code))
        os._exit(code)


def grip(name: str, step: Any, slots: Any, unfinished: frozenset[int]) -> None:
    """Use a resource; some calls are not proved to have ended."""
    if name == "work":
        slots.handle[step.index] = True
        if step.index in unfinished:
            raise Unfinished


def gradients(name: str, step: Any, slots: Any, data: Any) -> Any:
    """Note in which nodes torch keeps a history; the field of the box has a place for each."""
    import torch

    del step, data
    if name == "fill":
        slots.box.x.fill_(0)
        slots.box.x[0] = torch.is_grad_enabled()
    elif name == "work":
        slots.box.y.fill_(torch.is_grad_enabled())
    elif name == "tell":
        return {
            "fill": bool(slots.box.x[0]),
            "work": bool(slots.box.y[0]),
            "tell": torch.is_grad_enabled(),
        }
    return None


def weigh(name: str, step: Any, slots: Any, network: Any) -> None:
    """Compute with weights that could be learned."""
    if name == "fill":
        slots.box.x.fill_(step.index)
    elif name == "work":
        slots.box.y.copy_(network(slots.box.x.float()))
