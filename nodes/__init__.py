"""Base classes for the five kinds of nodes, and nodes that only take time."""

from nodes.kinds import BindNode, DispatchNode, PrepareNode, ReclaimNode, ReleaseNode

__all__ = ["BindNode", "DispatchNode", "PrepareNode", "ReclaimNode", "ReleaseNode"]
