"""Decoding with drafts gives what decoding without gives: `python -m tests.deepseek.mtp_product > LOG` runs every
combination of checkpoint, number of drafts, kind of draft and topology, 16 prompts of 512 tokens each, by compiled
steps where they can be compiled; those without drafts are eager.

Where the two differ, the place is looked at: it is a tie if plain decoding's best two logits there are within 1e-4
of each other, or if a router on the way chose between two experts whose scores are within 1e-6 of each other, a few
units in the last place; ties are listed. All else is a fault.
"""

from __future__ import annotations

import itertools
import platform
import random
import sys
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch.nn import functional as F

from deepseek.bundled import PATH
from deepseek.checkpoint import load_model
from deepseek.compiled import Choice, StepShape, choose
from deepseek.engine import Engine, Request
from deepseek.model import Model
from deepseek.model.moe import Router
from deepseek.model.step import Spans
from deepseek.pipeline import executor
from deepseek.sizes import Sizes
from deepseek.state import Caches
from graph import Runtime, compile, load
from tests.deepseek import drafting
from tests.deepseek.references import PARITY

CHECKPOINTS = ("a", "b", "accept", "real_rates", "quant", "bundled")
DRAFTS = (1, 2, 3)
KINDS = ("model", "wrong", "right", "mixed")
TOPOLOGIES = ("sync", "pingpong", "overlap", "deep", "latebind")
TIE = 1e-4
"""Between the best two logits."""
ROUTING_TIE = 1e-6
"""Between the last expert chosen and the first left out."""
SEED = 20
BATCH = 16
CHUNK = 48
MORE = max(DRAFTS)

Tokens = tuple[int, ...]


WAYS: dict[tuple[str, Sizes], Choice] = {}
"""How steps with drafts run, by checkpoint and sizes; eager where it does not say."""


class Case(NamedTuple):
    checkpoint: str
    drafts: int
    kind: str
    topology: str


class Outcome(NamedTuple):
    steps: int
    acceptance: float
    ties: list[str]
    faults: list[str]


def product() -> list[Case]:
    """Every combination."""
    return [Case(*each) for each in itertools.product(CHECKPOINTS, DRAFTS, KINDS, TOPOLOGIES)]


def pairwise() -> list[Case]:
    """Few of them that show every pair of two choices, by taking the case that shows most new pairs each time."""

    def pairs(case: Case) -> set[tuple[int, object, int, object]]:
        return {(i, case[i], j, case[j]) for i, j in itertools.combinations(range(len(case)), 2)}

    cases, chosen = product(), []
    missing = set().union(*map(pairs, cases))
    while missing:
        best = max(cases, key=lambda case: len(pairs(case) & missing))
        chosen.append(best)
        missing -= pairs(best)
    return chosen


def directory(checkpoint: str) -> Path:
    return PATH if checkpoint == "bundled" else PARITY / checkpoint


@cache
def network(checkpoint: str) -> Model:
    return load_model(directory(checkpoint), capacity=BATCH, context=1024, rows_per_step=2)


@cache
def prompts(checkpoint: str, count: int) -> tuple[Tokens, ...]:
    """The reference's prompts, then random ones of up to 90 tokens."""
    found: list[Tokens] = []
    reference = directory(checkpoint) / "reference.npz"
    if reference.exists():
        arrays = np.load(reference)
        found = [tuple(arrays[f"p{i}_ids"].tolist()) for i in range(count) if f"p{i}_ids" in arrays]
    chance = random.Random(SEED)
    vocab_size = network(checkpoint).config.vocab_size
    while len(found) < count:
        found.append(tuple(chance.randrange(2, vocab_size) for _ in range(chance.randint(1, 90))))
    return tuple(found[:count])


def sizes(checkpoint: str, tokens: int, drafts: int) -> Sizes:
    return Sizes(
        network(checkpoint).config.vocab_size,
        context=512 + tokens,
        batch=BATCH,
        capacity=BATCH,
        rows=drafts + 1,
        packed=2,
        chunk=CHUNK,
    )


@cache
def plain(checkpoint: str, count: int, tokens: int) -> tuple[Tokens, ...]:
    """What decoding without drafts gives, and a few tokens more, so that drafts behind the last one can be right."""
    return decode(Case(checkpoint, 0, "model", "sync"), count, tokens + MORE)[0]


def decode(case: Case, count: int, tokens: int) -> tuple[tuple[Tokens, ...], Engine]:
    """The tokens of each prompt, and the engine that made them."""
    asked = sizes(case.checkpoint, tokens, case.drafts)
    choice = WAYS.get((case.checkpoint, asked))
    pipeline = executor(network(case.checkpoint), asked, compiled=choice)
    given = prompts(case.checkpoint, count)
    if case.kind != "model":
        known = dict(zip(given, plain(case.checkpoint, count, tokens), strict=True))
        choose = getattr(drafting, case.kind)
        pipeline = drafting.Drafting(known, choose, asked.vocab_size, SEED).over(pipeline)
    found: dict[str, list[int]] = {}
    with Runtime(compile(load(case.topology)), pipeline, threads=1) as run, Engine(run, asked) as engine:
        order = [engine.add(Request(prompt, tokens)) for prompt in given]
        for event in engine.events():
            if event.error is not None:
                raise event.error
            if event.token is not None:
                found.setdefault(event.request, []).append(event.token)
    return tuple(tuple(found[name]) for name in order), engine


def check(case: Case, count: int, tokens: int) -> Outcome:
    """Decode with drafts, and compare."""
    expected = [known[:tokens] for known in plain(case.checkpoint, count, tokens)]
    found, engine = decode(case, count, tokens)
    ties, faults = [], []
    for number, (mine, theirs) in enumerate(zip(found, expected, strict=True)):
        if mine == theirs:
            continue
        place = next((i for i, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), len(mine))
        gap, margin = _closest(case.checkpoint, prompts(case.checkpoint, count)[number] + theirs[:place])
        told = f"prompt {number}, token {place}: {mine[place : place + 1]} for {theirs[place]}"
        told += f", best two logits {gap:.1e} apart, closest routing {margin:.1e}"
        tie = (gap < TIE or margin < ROUTING_TIE) and len(mine) == len(theirs)
        (ties if tie else faults).append(told)
    return Outcome(
        engine.stats.steps["decode"] + engine.stats.steps["mixed"], engine.stats.acceptance, ties, faults
    )


def _closest(checkpoint: str, tokens: Sequence[int]) -> tuple[float, float]:
    """How close the best two logits of what comes after `tokens` are, and the closest choice of a router on the way."""
    model, count = network(checkpoint), len(tokens)
    caches = Caches.allocate(model.config, capacity=1, context=count)
    zero = torch.zeros(1, dtype=torch.int64)
    spans = Spans(zero, zero, zero + count, torch.arange(caches.blocks).unsqueeze(0))
    margins = [float("inf")]

    def note(router: Router, given: tuple[torch.Tensor, ...], _: object) -> None:
        if router.bias is not None:
            scores = F.softplus(F.linear(given[0].float(), router.weight)).sqrt() + router.bias
            ranked = scores.topk(router.picks + 1).values
            margins.append(float((ranked[:, -2] - ranked[:, -1]).min()))

    hooks = [part.register_forward_hook(note) for part in model.modules() if isinstance(part, Router)]
    with torch.inference_mode():
        best = model(torch.tensor([tokens]), spans, caches)[0].topk(2).values
    for hook in hooks:
        hook.remove()
    return float(best[0] - best[1]), min(margins)


def compile_steps(cases: Sequence[Case], tokens: int) -> None:
    """Compile the steps that the cases take, and say which way each goes."""
    for checkpoint, drafts in dict.fromkeys((case.checkpoint, case.drafts) for case in cases):
        asked = sizes(checkpoint, tokens, drafts)
        choice = choose(StepShape(network(checkpoint).config, asked, "float32", 1), "cpu", "compile")
        WAYS[checkpoint, asked] = choice
        print(f"{checkpoint}, {drafts} drafts: {choice}", flush=True)


def main(names: Sequence[str]) -> None:
    torch.set_num_threads(1)
    count, tokens = 16, 512
    cases = [case for case in product() if case.checkpoint in (names or CHECKPOINTS)]
    print(
        f"python {platform.python_version()}, torch {torch.__version__}, {platform.machine()}, one thread per lane"
    )
    print(
        f"{len(cases)} combinations, {count} prompts of {tokens} new tokens each, batch {BATCH}, seed {SEED}"
    )
    faults, ties, began = 0, set(), time.monotonic()
    compile_steps(cases, tokens)
    for case in cases:
        outcome = check(case, count, tokens)
        faults += len(outcome.faults)
        ties |= {(case.checkpoint, tie.split(":")[0]) for tie in outcome.ties}
        print(*case, f"steps {outcome.steps}", f"acceptance {outcome.acceptance:.3f}", sep="\t", flush=True)
        for kind, told in (("tie", outcome.ties), ("FAULT", outcome.faults)):
            for line in told:
                print(f"\t{kind}: {line}", flush=True)
    minutes = (time.monotonic() - began) / 60
    print(f"{len(cases)} combinations, {faults} faults, {len(ties)} places of ties, {minutes:.0f} minutes")
    sys.exit(faults > 0)


if __name__ == "__main__":
    main(sys.argv[1:])
