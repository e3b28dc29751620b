"""The training script, run for a few steps: `python -m deepseek.bundled.train`."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from deepseek.bundled.schedule import Schedule, Settings
from deepseek.bundled.train import main
from deepseek.checkpoint import load_model


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory: Path = tmp_path_factory.mktemp("trained")
    main([str(directory), "--steady", "12", "--batch", "2", "--length", "96", "--warm-up", "4"])
    return directory


def test_it_writes_a_checkpoint_that_loads(trained: Path) -> None:
    assert load_model(trained, capacity=1, context=16, rows_per_step=2).mtp is not None


def test_a_few_steps_reduce_the_losses(trained: Path) -> None:
    log = json.loads((trained / "training.json").read_text())
    untrained = 5.55  # nats: an even guess among 258 tokens
    assert log["steps"] == 16
    assert log["training"][-1]["following"] < untrained - 1
    assert log["held_out"]["teacher_forced"]["following"] < untrained - 1


def test_the_log_says_what_was_run(trained: Path) -> None:
    log = json.loads((trained / "training.json").read_text())
    assert log["command"].startswith("python -m deepseek.bundled.train ")
    assert log["settings"]["steady"] == 12
    assert log["settings"]["batch"] == 2
    assert log["held_out"]["drafts"] > 0


def factors(schedule: Schedule) -> list[float]:
    return [round(factor, 3) for _, factor in schedule]


def test_the_rate_rises_stays_and_falls() -> None:
    assert factors(Schedule(Settings(steady=6, warm_up=4))) == [0.25, 0.5, 0.75, 1, 1, 1, 0.667, 0.333]


def test_settling_lets_the_rate_fall_from_the_next_step_on() -> None:
    def interrupted(schedule: Schedule) -> Iterator[float]:
        for step, factor in schedule:
            if step == 5:
                schedule.settle()
            yield round(factor, 3)

    schedule = Schedule(Settings(steady=1000, warm_up=4))
    assert list(interrupted(schedule)) == factors(Schedule(Settings(steady=6, warm_up=4)))
    assert (schedule.steady, schedule.steps) == (6, 8)
