"""The fixtures of runs, which nodes are tested in."""

from tests.graph.conftest import collected, hectic, nothing_left

__all__ = ["collected", "hectic", "nothing_left"]
