"""Tokens per second of decoding, beside transformers' `generate` on the same checkpoint, threads and machine.

Each contestant decodes the same prompts greedily. What counts is the median time from one step to the next, so that
neither side's prompt processing, start or end is in it. Rounds are interleaved: a disturbance of the machine falls on
all. Steps are compiled first, where they are not yet (minutes, once).
"""

from __future__ import annotations

import argparse
import logging
import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from rich.console import Console
from transformers import DeepseekV4ForCausalLM, StoppingCriteria, StoppingCriteriaList
from transformers.utils import logging as transformers_logging

from benchmarks.random_checkpoint import write
from deepseek.bundled import PATH
from deepseek.checkpoint import has_prediction, load_model, read_config
from deepseek.compiled import Choice, StepShape, choose, rounded
from deepseek.engine import Engine, Request
from deepseek.model import Model
from deepseek.pipeline import executor
from deepseek.sizes import Sizes
from graph import Runtime, compile, load
from graph.report import Report, report

PROMPT = 16
"""Tokens of each prompt."""


@dataclass(frozen=True)
class Case:
    """One checkpoint at one batch size."""

    name: str
    directory: Path
    batch: int
    tokens: int
    """New tokens per request."""

    def sizes(self, vocab_size: int, drafts: int) -> Sizes:
        """Of a run in which a step has as many requests as there are."""
        asked = Sizes(
            vocab_size,
            context=PROMPT + self.tokens,
            batch=self.batch,
            capacity=self.batch,
            rows=drafts + 1,
            chunk=PROMPT,
        )
        return rounded(asked)

    def prompts(self) -> list[list[int]]:
        return [[3 + (7 * place + 31 * row) % 250 for place in range(PROMPT)] for row in range(self.batch)]


class Ours:
    """laneflow's engine on one case."""

    def __init__(self, case: Case, model: Model, sizes: Sizes, choice: Choice) -> None:
        self.case, self.model, self.sizes, self.choice = case, model, sizes, choice

    def run(self, topology: str) -> tuple[Report, float, list[list[int]]]:
        """The figures of the decode route, tokens that a step committed per request, and the tokens."""
        found: dict[str, list[int]] = {}
        pipeline = executor(self.model, self.sizes, compiled=self.choice)
        with Runtime(compile(load(topology)), pipeline, threads=1) as run, Engine(run, self.sizes) as engine:
            for prompt in self.case.prompts():
                found[engine.add(Request(tuple(prompt), self.case.tokens))] = []
            for event in engine.events():
                if event.token is not None:
                    found[event.request].append(event.token)
        return report(run.trace(), route="decode"), engine.stats.tokens_per_step or 1.0, list(found.values())


class Stamps(StoppingCriteria):
    """Notes the time of each token, and stops nothing."""

    def __init__(self) -> None:
        self.at: list[float] = []

    def __call__(self, input_ids: torch.Tensor, scores: object, **_: object) -> torch.Tensor:
        self.at.append(time.perf_counter())
        return torch.zeros(input_ids.shape[0], dtype=torch.bool)


class Theirs:
    """transformers on one case, with the experts' implementation that it chooses itself."""

    def __init__(self, case: Case, network: DeepseekV4ForCausalLM) -> None:
        self.case, self.network = case, network

    def run(self) -> tuple[float, list[list[int]]]:
        """Median milliseconds per step, and the tokens."""
        ids, stamps = torch.tensor(self.case.prompts()), Stamps()
        with torch.inference_mode():
            found = self.network.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=self.case.tokens,
                min_new_tokens=self.case.tokens,
                do_sample=False,
                stopping_criteria=StoppingCriteriaList([stamps]),
            )
        steps = [later - earlier for earlier, later in zip(stamps.at, stamps.at[1:], strict=False)]
        return statistics.median(steps) * 1e3, found[:, PROMPT:].tolist()


def measure(case: Case, rounds: int) -> list[str]:
    """Interleaved rounds of one case; the lines of the two tables."""
    plain = ours(case, 0)
    drafting = ours(case, 1) if has_prediction(case.directory) else None
    eager = Ours(case, plain.model, plain.sizes, Choice(None, "to compare", wanted=False))
    theirs = Theirs(case, DeepseekV4ForCausalLM.from_pretrained(case.directory, dtype=torch.float32).eval())
    reports: dict[str, list[Report]] = {"pingpong": [], "sync": [], "eager": [], "mtp": []}
    milliseconds, agreeing, committed = [], 0, 1.0
    for _ in range(rounds):
        figures, _, tokens = plain.run("pingpong")
        reports["pingpong"].append(figures)
        reports["sync"].append(plain.run("sync")[0])
        reports["eager"].append(eager.run("pingpong")[0])
        if drafting is not None:
            figures, committed, _ = drafting.run("pingpong")
            reports["mtp"].append(figures)
        step, expected = theirs.run()
        milliseconds.append(step)
        agreeing = sum(one == other for one, other in zip(tokens, expected, strict=True))
    theirs_ms = statistics.median(milliseconds)
    return [
        speed_line(case, reports, committed, theirs_ms, agreeing, str(plain.choice)),
        hiding_line(case, reports),
    ]


def ours(case: Case, drafts: int) -> Ours:
    """laneflow on a case, its step compiled."""
    sizes = case.sizes(read_config(case.directory).vocab_size, drafts)
    model = load_model(
        case.directory, capacity=sizes.capacity, context=sizes.context, rows_per_step=sizes.rows
    )
    shape = StepShape(model.config, sizes, "float32", 1)
    return Ours(case, model, sizes, choose(shape, "cpu", "compile", Console(stderr=True)))


def speed_line(
    case: Case, reports: dict[str, list[Report]], committed: float, theirs: float, agreeing: int, way: str
) -> str:
    """A row of the first table; a step with drafts counts as many times as it committed tokens."""
    steps = {name: period(found) for name, found in reports.items() if found}
    speeds = [1e3 * case.batch / step for step in (steps["pingpong"], steps["eager"], theirs)]
    numbers = " | ".join(f"{speed:.0f}" for speed in speeds)
    mtp = f"{1e3 * case.batch * committed / steps['mtp']:.0f}" if "mtp" in steps else "no block"
    times, same = theirs / steps["pingpong"], f"{agreeing} of {case.batch}"
    return f"| {case.name} | {case.batch} | {way} | {numbers} | {times:.1f} | {same} | {mtp} |"


def hiding_line(case: Case, reports: dict[str, list[Report]]) -> str:
    """A row of the second table: host time is what `sync` takes beyond the device's own time."""
    device = median(
        reports["sync"], lambda one: one.period.median - one.gap.median if one.period and one.gap else 0
    )
    sync, pingpong = period(reports["sync"]), period(reports["pingpong"])
    host = sync - device
    hidden = f"{(sync - pingpong) / host:.0%}" if host > 0 else "none to hide"
    prepared, reclaimed = (
        f"{sum(share.count for share in shares)} of {sum(share.of for share in shares)}"
        for shares in (
            [one.prepare_overlap for one in reports["pingpong"]],
            [one.reclaim_overlap for one in reports["pingpong"]],
        )
    )
    numbers = f"{sync:.3f} | {pingpong:.3f} | {host:.3f} | {hidden}"
    return f"| {case.name} | {case.batch} | {numbers} | {prepared} | {reclaimed} |"


def period(reports: Sequence[Report]) -> float:
    """Milliseconds from step to step: the median over rounds of each round's median."""
    return median(reports, lambda one: one.period.median if one.period else 0.0)


def median(reports: Sequence[Report], figure: Callable[[Report], float]) -> float:
    return statistics.median(figure(one) for one in reports)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=96, help="new tokens per request")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--checkpoint", choices=("bundled", "67M"), nargs="+", default=["bundled", "67M"])
    parser.add_argument(
        "--folder", type=Path, default=Path("build/random-67m"), help="where the 67M one is written"
    )
    args = parser.parse_args(argv)
    logging.getLogger("laneflow").setLevel(logging.WARNING)
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    torch.set_num_threads(1)
    folders = {"bundled": PATH, "67M": args.folder}
    if "67M" in args.checkpoint and not (args.folder / "model.safetensors").exists():
        write(args.folder)
    for name in args.checkpoint:
        read_config(folders[name])
    cases = [
        Case(name, folders[name], batch, args.tokens) for name in args.checkpoint for batch in args.batch
    ]
    lines = [measure(case, args.rounds) for case in cases]
    print(
        f"{args.rounds} rounds of {args.tokens} tokens, 1 thread, torch {torch.__version__}, "
        f"load {os.getloadavg()[0]:.2f} on {os.cpu_count()} processors\n"
    )
    print(
        "| checkpoint | batch | step | laneflow, tokens/s | eager | transformers | times | same tokens | one draft |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    print("\n".join(line[0] for line in lines))
    print(
        "\n| checkpoint | batch | `sync`, ms | `pingpong`, ms | host, ms | hidden | prepare inside | reclaim inside |"
    )
    print("|---|---|---|---|---|---|---|---|")
    print("\n".join(line[1] for line in lines))


if __name__ == "__main__":
    main()
