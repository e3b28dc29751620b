"""The decode step compiled ahead of time: one foreign call per step, during which the interpreter is free."""

from deepseek.compiled.choice import Choice, Way, choose
from deepseek.compiled.dispatch import CompiledDispatch
from deepseek.compiled.shape import StepShape, rounded

__all__ = ["Choice", "CompiledDispatch", "StepShape", "Way", "choose", "rounded"]
