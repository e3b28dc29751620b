"""Trains the bundled checkpoint: `python -m deepseek.bundled.train [DIRECTORY]`.

A run is the same everywhere, its numbers are not: text differs by Python version, float32 sums by machine.
What was run for the committed checkpoint, on what and with what outcome is in training.json, which this script
writes. Ctrl-C lets the learning rate fall to zero from there on, instead of at the step that was set.
"""

import argparse
import hashlib
import json
import platform
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import torch

from deepseek.bundled import PATH, held_out
from deepseek.bundled.corpus import Corpus, read_corpus
from deepseek.bundled.objective import losses
from deepseek.bundled.schedule import Schedule, Settings
from deepseek.bundled.sequences import Text
from deepseek.bundled.weights import balance, initialise, round_weights, store_weights
from deepseek.checkpoint import read_config
from deepseek.model import Model

REPORT_EVERY = 100
"""Steps between progress lines; each time the weights are stored, too."""


def main(arguments: Sequence[str]) -> None:
    """Train, measure on held-out text, and write the checkpoint and training.json to a directory."""
    parser = argparse.ArgumentParser(prog="python -m deepseek.bundled.train", description=__doc__)
    parser.add_argument("directory", nargs="?", type=Path, default=PATH, help="default: the package's own")
    for name, value in asdict(Settings()).items():
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=type(value), default=value, help=f"default: {value}")
    given = vars(parser.parse_args(arguments))
    directory: Path = given.pop("directory")
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("config.json", "tokenizer_config.json"):
        if directory.resolve() != PATH.resolve():
            shutil.copy(PATH / name, directory)
    log = {"command": " ".join((parser.prog, *arguments)), **train(directory, Settings(**given))}
    (directory / "training.json").write_text(json.dumps(log, indent=1) + "\n", encoding="utf-8")


def train(directory: Path, settings: Settings) -> dict[str, object]:
    """Train a model of the directory's configuration and store it there; what the log says of it."""
    torch.set_num_threads(1)
    corpus, begun = read_corpus(), time.monotonic()
    model = Model(read_config(directory), predicts=True)
    schedule, history = Schedule(settings), []
    before = signal.signal(signal.SIGINT, schedule.settle)
    for step, figures in _steps(model, corpus, settings, schedule):
        if step % REPORT_EVERY == 0 or step == schedule.steps:
            history.append({"step": step, **figures, "minutes": round((time.monotonic() - begun) / 60, 2)})
            sys.stdout.write(f"{json.dumps(history[-1])}\n")
            sys.stdout.flush()
            store_weights(model, directory)
    signal.signal(signal.SIGINT, before)
    round_weights(model)
    stored = store_weights(model, directory)
    return {
        "settings": asdict(settings) | {"steady": schedule.steady},
        "steps": schedule.steps,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "machine": f"{platform.machine()}, 1 thread",
        "weights_sha256": hashlib.sha256(stored.read_bytes()).hexdigest(),
        "parameters": sum(value.numel() for value in model.parameters()),
        "corpus": corpus.described(),
        "minutes": round((time.monotonic() - begun) / 60, 1),
        "held_out": held_out.figures(model, corpus.held_out),
        "training": history,
    }


def _steps(
    model: Model, corpus: Corpus, settings: Settings, schedule: Schedule
) -> Iterator[tuple[int, dict[str, float]]]:
    """Initialise the model and take the steps; after each, its number and figures."""
    random = torch.Generator().manual_seed(settings.seed)
    initialise(model, random)
    text, optimizer = Text(corpus.training, model.config), _optimizer(model, settings)
    for step, factor in schedule:
        for group in optimizer.param_groups:
            group["lr"] = settings.rate * factor
        with balance(model):
            found = losses(model, text.draw(settings.batch, settings.length, random))
        optimizer.zero_grad()
        torch.autograd.backward(found.following + settings.draft_weight * found.draft)
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
        optimizer.step()
        yield step, found.figures()


def _optimizer(model: Model, settings: Settings) -> torch.optim.AdamW:
    """AdamW over what learns; only matrices decay."""
    learning = [value for value in model.parameters() if value.requires_grad]
    groups = [
        {"params": [value for value in learning if value.dim() > 1], "weight_decay": settings.weight_decay},
        {"params": [value for value in learning if value.dim() == 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=settings.rate, betas=(0.9, 0.95), fused=True)


if __name__ == "__main__":
    main(sys.argv[1:])
