"""What `laneflow run` does: checks everything that can be checked first, loads, decodes, reports."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from deepseek.bundled import PATH
from deepseek.checkpoint import CheckpointError, has_prediction, read_config
from deepseek.compiled import Choice, StepShape, Way, choose, rounded
from deepseek.config import ModelConfig
from deepseek.engine import Engine, Request, RequestError, Stats
from deepseek.output import Output
from deepseek.pipeline import ROUTES, Origin, deferred, executor
from deepseek.prompts import read_prompts
from deepseek.simulated_device import paced
from deepseek.sizes import Sizes
from deepseek.steps import Sampling
from deepseek.tokenizer import Tokenizer, TokenizerError, load_tokenizer
from graph.cli.checking import Check
from graph.cli.command import UsageError
from graph.cli.sources import Sources
from graph.cli.terminal import coloured, err, writing
from graph.diagnostics import TopologyError
from graph.errors import BindError, LaneDied, LifecycleError
from graph.program import Program, compile
from graph.render import text
from graph.render.report import summary
from graph.report import Report, report
from graph.runtime import Runtime
from graph.trace_file import TraceError, check_writable, write

REFUSED = (
    BindError,
    CheckpointError,
    LifecycleError,
    RequestError,
    TokenizerError,
    TraceError,
    UsageError,
)
"""What is wrong outside laneflow, and told in one line."""
CAPTURED = "captured as CUDA graphs"
"""How decode steps ran, where they did."""
MOST_DRAFTS = 3
"""Drafts of a step; beyond, they are hardly ever right."""


def run(args: Namespace) -> int:
    """Exit code: 0, 1 where a request failed, 2 where it could not start."""
    try:
        _check_numbers(args)
        if args.trace:
            check_writable(args.trace)
        program = _program(args)
        if program is None:
            return 2
        directory = Path(args.model) if args.model else PATH
        config = read_config(directory)
        drafts = _drafts(args, directory)
        tokenizer = _tokenizer(directory, config.vocab_size, args)
        prompts = read_prompts(args, config.vocab_size, tokenizer)
        requests = _requests(args, config, prompts)
        return _decode(args, program, directory, config, drafts, tokenizer, requests)
    except TopologyError as error:  # of a fallback
        err(str(error))
    except REFUSED as error:
        err(f"laneflow: {error}")
    except LaneDied as error:
        err(f"laneflow: {error}")
        return 1
    return 2


def _program(args: Namespace) -> Program | None:
    """The compiled topology; None, and the text of `laneflow validate`, where it is refused."""
    sources = Sources()
    (outcome,) = Check(sources, args.overrides).outcomes(args.topology)
    if outcome.topology is None or outcome.faulty:
        err(text.render([outcome], sources.lines, coloured(sys.stderr)))
        return None
    lacking = [route for route in ROUTES if route not in outcome.topology.steps_routes()]
    if lacking:
        name, routes = outcome.topology.topology, ", ".join(f"`{route}`" for route in lacking)
        raise UsageError(f"`{name}` does not decode: it has no route {routes}; start from `extends: decode`")
    return compile(outcome.topology)


def _check_numbers(args: Namespace) -> None:
    if args.max_tokens < 1:
        raise UsageError(f"--max-tokens {args.max_tokens}: ask for at least one token")
    if not 0 <= args.temperature < float("inf"):
        raise UsageError(f"--temperature {args.temperature}: it is 0 (greedy) or more")
    if not 0 < args.top_p <= 1:
        raise UsageError(f"--top-p {args.top_p}: it is above 0 and at most 1")
    if args.threads < 1:
        raise UsageError(f"--threads {args.threads}: a lane needs at least one")
    most = 4 * (os.cpu_count() or 1)
    if args.threads > most:
        raise UsageError(f"--threads {args.threads}: this machine's cores allow at most {most}")
    if args.device_time is not None and not 0 < args.device_time <= 10_000:
        raise UsageError(f"--device-time {args.device_time}: milliseconds above 0, and at most 10000")
    if args.context is not None and args.context < 1:
        raise UsageError(f"--context {args.context}: it is at least 1")
    if args.seed < 0 or args.seed >= 1 << 62:
        raise UsageError(f"--seed {args.seed}: it is 0 or more, and under 2^62")
    try:
        device = torch.device(args.device)
    except RuntimeError:
        raise UsageError(f"--device {args.device}: write cpu, cuda or cuda:N") from None
    if device.type not in ("cpu", "cuda"):
        raise UsageError(f"--device {args.device}: only cpu and cuda are supported")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise UsageError(
            f"--device {args.device}: torch sees {torch.cuda.device_count()} CUDA devices; use cpu"
        )


def _drafts(args: Namespace, directory: Path) -> int:
    """Drafts of a step: as asked, or one where the checkpoint has a prediction block."""
    able = has_prediction(directory)
    if args.mtp is None:
        return int(able)
    if not 0 <= args.mtp <= MOST_DRAFTS:
        raise UsageError(f"--mtp {args.mtp}: a step has 0 to {MOST_DRAFTS} drafts")
    if args.mtp and not able:
        raise UsageError(
            f"--mtp {args.mtp}: {directory} has no prediction block (mtp.0.*): decode with --mtp 0"
        )
    return int(args.mtp)


def _tokenizer(directory: Path, vocab_size: int, args: Namespace) -> Tokenizer | None:
    try:
        return load_tokenizer(directory, vocab_size)
    except TokenizerError:
        if args.prompt_ids:
            return None
        raise


def _requests(args: Namespace, config: ModelConfig, prompts: list[tuple[int, ...]]) -> list[Request]:
    limit = min(args.context or config.max_position_embeddings, config.max_position_embeddings)
    stop = frozenset() if args.ignore_eos else frozenset(config.eos_token_ids)
    requests = []
    for index, prompt in enumerate(prompts):
        if len(prompt) + args.max_tokens > limit:
            raise UsageError(
                f"prompt {index} has {len(prompt)} tokens; with {args.max_tokens} new ones it exceeds the limit of "
                f"{limit}: shorten it, or ask for fewer with --max-tokens"
            )
        sampling = Sampling(args.temperature, args.top_p, args.seed + index)
        requests.append(Request(prompt, args.max_tokens, sampling, stop, tuple(args.stop or ())))
    return requests


def _decode(
    args: Namespace,
    program: Program,
    directory: Path,
    config: ModelConfig,
    drafts: int,
    tokenizer: Tokenizer | None,
    requests: list[Request],
) -> int:
    context = args.context or max(len(request.prompt) + request.max_tokens for request in requests)
    asked = _sizes(program, config, min(context, config.max_position_embeddings), drafts)
    torch.set_num_threads(args.threads)
    console = Console(stderr=True)
    choice = _choose(args, config, asked, console)
    sizes = choice.step[1].sizes if choice.step else asked
    origin = Origin(directory, args.dtype, args.device, choice.step and choice.step[1], not args.eager)
    if _in_process(program):
        pipeline = deferred(origin, sizes)
    else:
        with console.status("loading the checkpoint"):
            model = origin.load(sizes)
        pipeline = executor(model, sizes, device=args.device, compiled=choice, captures=not args.eager)
        pipeline = replace(pipeline, factory=partial(deferred, origin, sizes))
    dispatch = pipeline.nodes["dispatch"]
    if args.device_time is not None:
        pipeline = paced(pipeline, args.device_time)
    output = Output(requests, as_json=args.json, stream=sys.stdout)
    running = Runtime(
        program,
        pipeline,
        device=args.device,
        strict=args.strict,
        checked=args.checked,
        threads=args.threads,
    )
    try:
        with running, Engine(running, asked, tokenizer) as engine:
            _drive(engine, requests, output, console)
    finally:  # what a run did before it failed is of interest, too
        captured = getattr(dispatch, "captures", False)
        trace = running.trace(notes={"dispatch": CAPTURED if captured else str(choice)})
        if args.trace and trace.spans:
            write(args.trace, trace)
    _print_report(report(trace, route="decode"), engine.stats, args.json)
    return int(output.failed)


def _sizes(program: Program, config: ModelConfig, context: int, drafts: int) -> Sizes:
    """Of the topology's dims what it gives; its rows and blocks follow from the drafts and the context."""
    for name, option in (("rows", "--mtp"), ("blocks", "--context")):
        if name in program.topology.dims and program.topology.place("dims", name).file.startswith(
            "override "
        ):
            raise UsageError(f"dims.{name} follows from {option}: give that instead")
    names = ("batch", "capacity", "packed", "chunk", "page", "pages")
    given = {name: size for name, size in program.topology.dims.items() if name in names}
    try:
        return Sizes(config.vocab_size, context, **{"batch": 8, "capacity": 8, **given}, rows=drafts + 1)
    except ValueError as error:
        raise UsageError(f"dims.{error}") from None


def _in_process(program: Program) -> bool:
    """Whether the nodes that have the model are in a process of their own, which loads it."""
    lanes = [lane.name for lane in program.lanes if lane.worker == "process"]
    return any(
        entry.node in ("dispatch", "prefill")
        for lane in lanes
        for entry in program.topology.lanes[lane].nodes
    )


def _choose(args: Namespace, config: ModelConfig, sizes: Sizes, console: Console) -> Choice:
    """How decode steps run; with --strict an unasked-for eager step is an error."""
    way: Way = "eager" if args.eager else "compile" if args.compile else "cached"
    shape = StepShape(config, rounded(sizes), args.dtype, args.threads)
    choice = choose(shape, args.device, way, console)
    if args.strict and choice.fell_back:
        raise UsageError(
            f"--strict: no compiled decode step: {choice.reason}. --eager chooses to run without"
        )
    return choice


def _drive(engine: Engine, requests: list[Request], output: Output, console: Console) -> None:
    """Decode; with a progress bar where it does not get in the way of the text."""
    bar = Progress(console=console, disable=not console.is_terminal or sys.stdout.isatty())
    with bar:
        task = bar.add_task("decoding", total=sum(request.max_tokens for request in requests))
        for event in engine.generate(requests):
            output.take(event)
            bar.advance(task, 1 if event.token is not None else 0)


def _print_report(figures: Report, stats: Stats, as_json: bool) -> None:
    """The table goes to stdout, after the text; to stderr where stdout is for machines."""
    table = Table(show_header=False)
    for name, value in [*summary(figures), *stats.summary()]:
        table.add_row(name, value)
    with writing("error" if as_json else "output"):
        Console(stderr=as_json).print(table)
