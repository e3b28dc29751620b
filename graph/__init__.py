"""A dataflow graph runtime with declarative lane topology.

A topology is read (`load`), proved (`validate`), compiled (`compile`) and run (`Runtime`). What needs torch is
imported on first use, so that reading and proving start at once.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graph.bind import bind
    from graph.diagnostics import Diagnostic, TopologyError
    from graph.errors import (
        BindError,
        InternalError,
        LaneDied,
        LifecycleError,
        QueueFull,
        RemoteError,
        RuntimeStopped,
        StepError,
        Stuck,
        Unfinished,
    )
    from graph.node import Context, Executor, Node, Ports, Step
    from graph.program import Program, compile
    from graph.reading import load, load_text
    from graph.runtime import Runtime
    from graph.topology import Topology
    from graph.validate import Validated, diagnose, validate

_HOME = {
    "BindError": "errors",
    "Context": "node",
    "Diagnostic": "diagnostics",
    "Executor": "node",
    "InternalError": "errors",
    "LaneDied": "errors",
    "LifecycleError": "errors",
    "Node": "node",
    "Ports": "node",
    "Program": "program",
    "QueueFull": "errors",
    "RemoteError": "errors",
    "Runtime": "runtime",
    "RuntimeStopped": "errors",
    "Step": "node",
    "StepError": "errors",
    "Stuck": "errors",
    "Topology": "topology",
    "TopologyError": "diagnostics",
    "Unfinished": "errors",
    "Validated": "validate",
    "bind": "bind",
    "compile": "program",
    "diagnose": "validate",
    "load": "reading",
    "load_text": "reading",
    "validate": "validate",
}

__all__ = [
    "BindError",
    "Context",
    "Diagnostic",
    "Executor",
    "InternalError",
    "LaneDied",
    "LifecycleError",
    "Node",
    "Ports",
    "Program",
    "QueueFull",
    "RemoteError",
    "Runtime",
    "RuntimeStopped",
    "Step",
    "StepError",
    "Stuck",
    "Topology",
    "TopologyError",
    "Unfinished",
    "Validated",
    "bind",
    "compile",
    "diagnose",
    "load",
    "load_text",
    "validate",
]


class _Package(ModuleType):
    """Keeps `graph.validate` and `graph.bind` the functions, once the modules that they are in have been imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _HOME or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'graph' has no attribute {name!r}")
    value = getattr(import_module(f"graph.{_HOME[name]}"), name)
    globals()[name] = value
    return value
