"""How a training run goes: its settings, and the learning rate from step to step."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """The defaults are what the committed checkpoint was trained with."""

    seed: int = 9
    steady: int = 2098
    """Steps before the learning rate begins to fall, to zero within a third as many steps more. (The committed
    checkpoint's training had no end set in advance; this is where Ctrl-C let it settle.)"""
    batch: int = 6
    length: int = 192
    """Tokens of a sequence."""
    rate: float = 3e-3
    """Learning rate of AdamW."""
    warm_up: int = 100
    """Steps over which the learning rate rises."""
    weight_decay: float = 0.1
    draft_weight: float = 1.0
    """Weight of the draft's loss beside the next token's."""
    clip: float = 1.0
    """Largest norm of a step's gradient."""


class Schedule:
    """The steps of a run, each with its factor of the learning rate: a linear rise, a steady phase, a linear fall."""

    def __init__(self, settings: Settings) -> None:
        self.warm_up, self.steady = settings.warm_up, settings.steady
        self._step = 0

    @property
    def steps(self) -> int:
        """Steps in all."""
        return self.steady + self.steady // 3

    def __iter__(self) -> Iterator[tuple[int, float]]:
        """Steps, from 1 on, and their factors."""
        while self._step < self.steps:
            self._step += 1
            fall = (self.steps + 1 - self._step) / (self.steps + 1 - self.steady)
            yield self._step, min(self._step / self.warm_up, 1.0, fall)

    def settle(self, *_: object) -> None:
        """End the steady phase with the next step at the latest; takes a signal handler's arguments."""
        self.steady = min(self.steady, self._step + 1)
