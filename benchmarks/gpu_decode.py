"""Decoding the bundled model through `stream` on a device, beside a stray thread of Python, against the CPU's tokens.

Both decode greedily in float32, the CPU through `sync`. Sums are taken in another order on a GPU, so two logits that
are all but equal may change places: where two answers part, the CPU's best two logits are looked at, and within `TIE`
of each other the place is a tie, which is listed. What follows a tie in that answer cannot be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from benchmarks.workloads import stray
from deepseek.bundled import PATH
from deepseek.checkpoint import load_model, read_config
from deepseek.engine import Engine, Request
from deepseek.model import Model
from deepseek.model.step import Spans
from deepseek.pipeline import executor
from deepseek.sizes import Sizes
from deepseek.state import Caches
from graph import Runtime, compile, load
from graph.report import Report, report

BATCH = 4
PROMPT = 16
DRAFTS = 1
TIE = 1e-4
TARGET_MS = 0.03
"""The device's gap between steps, median, beside a stray thread."""


@dataclass(frozen=True)
class Comparison:
    """Of the tokens on a device with those on the CPU."""

    same: int
    compared: int
    ties: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


@dataclass(frozen=True)
class Decoding:
    """Times in milliseconds, by the device's clock."""

    way: str
    """How the step is launched."""
    step: float | None
    period: float | None
    gap: float | None
    gap_p99: float | None
    tokens: Comparison

    @property
    def met(self) -> bool:
        return self.gap is not None and self.gap < TARGET_MS


def measure(device: str, tokens: int) -> Decoding:
    """Decode `tokens` new ones per request on both."""
    own = _model(device, tokens)
    found, figures, way = decode(own, device, "stream", tokens, beside=True)
    cpu = own if device == "cpu" else _model("cpu", tokens)
    expected, _, _ = decode(cpu, "cpu", "sync", tokens, beside=False)
    gap = figures.gap_true
    return Decoding(
        way,
        figures.span and figures.span.median,
        figures.period and figures.period.median,
        gap and gap.median,
        gap and gap.p99,
        compare(found, expected, cpu),
    )


def prompts() -> list[list[int]]:
    return [[3 + (7 * place + 31 * row) % 250 for place in range(PROMPT)] for row in range(BATCH)]


def sizes(tokens: int) -> Sizes:
    vocab_size = read_config(PATH).vocab_size
    return Sizes(vocab_size, PROMPT + tokens, batch=BATCH, capacity=BATCH, rows=DRAFTS + 1, chunk=PROMPT)


def _model(device: str, tokens: int) -> Model:
    asked = sizes(tokens)
    return load_model(
        PATH, capacity=asked.capacity, context=asked.context, rows_per_step=asked.rows, device=device
    )


def decode(
    model: Model, device: str, topology: str, tokens: int, *, beside: bool
) -> tuple[list[list[int]], Report, str]:
    """The tokens of each prompt, the figures of the decode steps, and how those were launched."""
    asked, found = sizes(tokens), dict[str, list[int]]()
    pipeline = executor(model, asked, device=device)
    run = Runtime(compile(load(topology)), pipeline, device=device, threads=1, strict=True)
    with stray(beside), run, Engine(run, asked) as engine:
        for prompt in prompts():
            found[engine.add(Request(tuple(prompt), tokens))] = []
        for event in engine.events():
            if event.error is not None:
                raise event.error
            if event.token is not None:
                found[event.request].append(event.token)
    captured = getattr(pipeline.nodes["dispatch"], "captures", False)
    way = "a captured CUDA graph" if captured else "eager"
    return list(found.values()), report(run.trace(), route="decode"), way


def compare(found: Sequence[Sequence[int]], expected: Sequence[Sequence[int]], model: Model) -> Comparison:
    """`model` is the CPU's, which has the last word on what is a tie."""
    same = compared = 0
    ties, faults = list[str](), list[str]()
    for number, (prompt, mine, theirs) in enumerate(zip(prompts(), found, expected, strict=True)):
        pairs = enumerate(zip(mine, theirs, strict=False))
        place = next((i for i, (one, other) in pairs if one != other), min(len(mine), len(theirs)))
        same, compared = same + place, compared + place
        if place == len(mine) == len(theirs):
            continue
        compared += 1
        if place == min(len(mine), len(theirs)):
            faults.append(f"prompt {number}: {len(mine)} tokens for {len(theirs)}")
            continue
        apart = best_two_apart(model, [*prompt, *theirs[:place]])
        told = (
            f"prompt {number}, token {place}: {mine[place]} for {theirs[place]}, best two {apart:.1e} apart"
        )
        (ties if apart < TIE else faults).append(told)
    return Comparison(same, compared, tuple(ties), tuple(faults))


def best_two_apart(model: Model, tokens: Sequence[int]) -> float:
    """How far the best logit of what comes after `tokens` is above the second."""
    caches = Caches.allocate(model.config, capacity=1, context=len(tokens))
    zero = torch.zeros(1, dtype=torch.int64)
    spans = Spans(zero, zero, zero + len(tokens), torch.arange(caches.blocks).unsqueeze(0))
    with torch.inference_mode():
        best = model(torch.tensor([tokens]), spans, caches)[0].topk(2).values
    return float(best[0] - best[1])
