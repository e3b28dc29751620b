"""Requests through every shipped topology: the same tokens, whatever the lanes, and nothing left behind."""

from collections import deque
from dataclasses import replace

import pytest
import torch

from deepseek.bundled import PATH
from deepseek.checkpoint import load_model
from deepseek.engine import Engine, Request, RequestError
from deepseek.model.network import Model
from deepseek.pipeline import executor
from deepseek.sizes import Sizes
from deepseek.steps import Sampling
from graph import Executor, Runtime, StepError, compile, load
from graph.errors import BindError
from graph.figures import figures
from graph.node import Node, Step
from graph.report import report

TOPOLOGIES = ("sync", "pingpong", "overlap", "deep", "latebind")
CONTEXT = 192
SIZES = Sizes(258, context=CONTEXT, batch=8, capacity=8, rows=2, chunk=16)
LENGTHS = (1, 5, 16, 17, 31, 40, 63, 90)


@pytest.fixture(scope="module")
def model() -> Model:
    torch.set_num_threads(1)
    return load_model(PATH, capacity=SIZES.capacity, context=CONTEXT, rows_per_step=2)


def prompts() -> list[tuple[int, ...]]:
    return [
        tuple((number * 37 + place * 11) % 256 + 2 for place in range(length))
        for number, length in enumerate(LENGTHS)
    ]


def run_through(
    topology: str, pipeline: Executor, requests: list[Request], *overrides: str, checked: bool = False
) -> tuple[list[list[int]], list[str | None], Runtime]:
    tokens: list[list[int]] = [[] for _ in requests]
    finishes: list[str | None] = [None] * len(requests)
    sizes = replace(
        SIZES, pages=0, **{name: pipeline.dims[name] for name in ("batch", "capacity", "chunk", "packed")}
    )
    with (
        Runtime(compile(load(topology, overrides)), pipeline, threads=1, checked=checked) as run,
        Engine(run, sizes) as engine,
    ):
        for event in engine.generate(requests):
            index = int(event.request)
            if event.token is not None:
                tokens[index].append(event.token)
            finishes[index] = event.finish or finishes[index]
    assert run.held_slots() == []
    assert run.rows is not None
    assert run.rows.taken == 0
    return tokens, finishes, run


def pipeline_of(model: Model, **sizes: int) -> Executor:
    return executor(model, replace(SIZES, pages=0, **sizes))


def test_every_topology_gives_the_same_tokens_for_a_batch_of_unequal_prompts(model: Model) -> None:
    requests = [Request(prompt, 64) for prompt in prompts()]
    expected, finishes, _ = run_through("sync", pipeline_of(model), requests)
    assert finishes == ["length"] * len(requests)
    assert all(len(tokens) == 64 for tokens in expected)
    assert len({tuple(tokens) for tokens in expected}) == len(requests)
    for topology in TOPOLOGIES[1:]:
        assert run_through(topology, pipeline_of(model), requests)[0] == expected, topology


def test_a_request_alone_gets_the_tokens_it_gets_in_a_batch(model: Model) -> None:
    requests = [Request(prompt, 64) for prompt in prompts()]
    together, _, _ = run_through("pingpong", pipeline_of(model), requests)
    for topology, number in zip(TOPOLOGIES, (0, 2, 3, 5, 7), strict=True):
        alone, _, _ = run_through(topology, pipeline_of(model), [requests[number]])
        assert alone == [together[number]], topology


@pytest.mark.parametrize(
    ("topology", "waves"), [*((name, (1, 3)) for name in TOPOLOGIES), ("pingpong", (3, 1))], ids=str
)
def test_requests_that_come_in_waves_get_the_tokens_they_get_alone(
    model: Model, topology: str, waves: tuple[int, ...]
) -> None:
    """A wave comes when the one before has had its sixth token."""
    requests = [Request(prompt, 20) for prompt in prompts()[2:6]]
    coming = deque(waves)
    tokens: dict[str, list[int]] = {}
    pipeline = pipeline_of(model, batch=4, capacity=4)
    with (
        Runtime(compile(load(topology)), pipeline, threads=1) as run,
        Engine(run, replace(SIZES, batch=4, capacity=4, pages=0)) as engine,
    ):

        def send() -> None:
            for _ in range(coming.popleft() if coming else 0):
                tokens[engine.add(requests[len(tokens)])] = []

        send()
        for event in engine.events():
            if event.token is not None:
                tokens[event.request].append(event.token)
            if event.request == list(tokens)[-1] and len(tokens[event.request]) == 6:
                send()
    alone = [run_through("sync", pipeline_of(model), [request])[0][0] for request in requests]
    assert list(tokens.values()) == alone


@pytest.mark.parametrize(
    "sizes",
    [
        {"chunk": 5},
        {"chunk": 64},
        {"chunk": 7, "packed": 3},
        {"batch": 4, "capacity": 4},
        {"batch": 4, "capacity": 6, "packed": 2},
    ],
    ids=str,
)
def test_sizes_of_chunk_batch_and_rows_do_not_change_tokens(model: Model, sizes: dict[str, int]) -> None:
    requests = [Request(prompt, 20) for prompt in prompts()]
    expected, _, _ = run_through("sync", pipeline_of(model), requests)
    assert run_through("deep", pipeline_of(model, **sizes), requests)[0] == expected


def test_sampled_tokens_do_not_depend_on_topology_or_batch(model: Model) -> None:
    requests = [Request(prompt, 24, Sampling(1.0, 0.9, seed)) for seed, prompt in enumerate(prompts())]
    expected, _, _ = run_through("sync", pipeline_of(model), requests)
    assert run_through("overlap", pipeline_of(model, batch=4, capacity=4), requests)[0] == expected
    greedy, _, _ = run_through("sync", pipeline_of(model), [Request(prompt, 24) for prompt in prompts()])
    assert greedy != expected


def test_more_requests_than_rows_wait_for_rows_of_those_that_end(model: Model) -> None:
    requests = [Request(prompt, 3 + number) for number, prompt in enumerate(prompts() * 3)]
    tokens, finishes, _ = run_through("pingpong", pipeline_of(model, batch=4, capacity=4), requests)
    assert [len(one) for one in tokens] == [request.max_tokens for request in requests]
    assert finishes == ["length"] * len(requests)
    assert tokens[8][:3] == tokens[0][:3]


def test_a_stop_id_ends_a_request_and_later_steps_of_it_yield_nothing(model: Model) -> None:
    plain, _, _ = run_through("pingpong", pipeline_of(model), [Request(prompts()[3], 40)])
    stop = plain[0][10]
    cut = plain[0][: plain[0].index(stop) + 1]
    for topology in TOPOLOGIES:
        request = Request(prompts()[3], 40, stop_ids=frozenset({stop}))
        tokens, finishes, _ = run_through(topology, pipeline_of(model), [request])
        assert (tokens, finishes) == ([cut], ["stop"]), topology


def test_a_checked_run_finds_nothing_and_gives_the_same_tokens(model: Model) -> None:
    requests = [Request(prompt, 12) for prompt in prompts()]
    expected, _, _ = run_through("sync", pipeline_of(model), requests)
    for topology in TOPOLOGIES:
        assert run_through(topology, pipeline_of(model), requests, checked=True)[0] == expected, topology


class FailsOnce:
    """A node that raises on one step and otherwise does what the real one does."""

    def __init__(self, node: Node, step: int) -> None:
        self.node, self.step, self.ports = node, step, node.ports
        self.start, self.stop = node.start, node.stop
        self.raised = False

    def run(self, step: Step, slots: object) -> object:
        if step.index == self.step:
            self.raised = True
            raise RuntimeError("injected")
        return self.node.run(step, slots)


@pytest.mark.parametrize("topology", ["overlap", "latebind"])
@pytest.mark.parametrize(
    "name", ["prepare", "bind", "dispatch", "reclaim", "release", "prefill", "reclaim_prefill"]
)
def test_a_failed_step_fails_its_requests_and_no_others(model: Model, topology: str, name: str) -> None:
    requests = [Request(prompt, 12) for prompt in prompts()[:4]]
    expected, _, _ = run_through("sync", pipeline_of(model, batch=4, capacity=4), requests)
    pipeline = pipeline_of(model, batch=4, capacity=4)
    failing = FailsOnce(pipeline.nodes[name], 0 if "prefill" in name else 9)
    pipeline = replace(pipeline, nodes={**pipeline.nodes, name: failing})
    tokens, finishes, _ = run_through(topology, pipeline, requests)
    assert failing.raised
    assert "error" in finishes
    for number, finish in enumerate(finishes):
        if finish == "error":
            assert tokens[number] == expected[number][: len(tokens[number])]
        else:
            assert (finish, tokens[number]) == ("length", expected[number])


def test_the_error_of_a_failed_request_names_node_and_step(model: Model) -> None:
    pipeline = pipeline_of(model)
    failing = FailsOnce(pipeline.nodes["prefill"], 0)
    pipeline = replace(pipeline, nodes={**pipeline.nodes, "prefill": failing})
    with Runtime(compile(load("pingpong")), pipeline) as run, Engine(run, SIZES) as engine:
        events = list(engine.generate([Request((5, 6), 4)]))
    assert [event.finish for event in events] == ["error"]
    assert isinstance(events[0].error, StepError)
    assert (events[0].error.node, events[0].error.step) == ("prefill", 0)


@pytest.mark.parametrize("lacks", ["device_state", "device_embedding", "split_reclaim"])
def test_an_executor_that_lacks_a_capability_runs_the_fallback_with_the_same_tokens(
    model: Model, lacks: str, caplog: pytest.LogCaptureFixture
) -> None:
    requests = [Request(prompt, 12) for prompt in prompts()]
    expected, _, plain = run_through("pingpong", pipeline_of(model), requests)
    assert (plain.fallback_reason, figures(report(plain.trace()))["fallback"]) == (None, 0)
    full = pipeline_of(model)
    lacking = replace(full, capabilities=full.capabilities - {lacks})
    tokens, _, run = run_through("pingpong", lacking, requests)
    assert tokens == expected
    assert run.topology_name == "sync"
    found = report(run.trace())
    for told in (run.fallback_reason, found.fallback, caplog.text):
        assert told is not None
        assert f"`pingpong` requires {lacks}" in told
    assert figures(found)["fallback"] == 1


def test_strict_makes_a_fallback_an_error(model: Model) -> None:
    full = pipeline_of(model)
    lacking = replace(full, capabilities=full.capabilities - {"device_embedding"})
    with pytest.raises(BindError, match="device_embedding"):
        Runtime(compile(load("pingpong")), lacking, strict=True)


def test_only_an_executor_with_drafts_can_run_a_topology_that_requires_them(model: Model) -> None:
    needs = load("pingpong", ["requires=[device_state, mtp]", "fallback=null"])
    with Runtime(compile(needs), pipeline_of(model)):
        pass
    with pytest.raises(BindError, match="mtp"):
        Runtime(compile(needs), pipeline_of(model, rows=1))


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request((), 4), "the prompt is empty"),
        (Request((5,), 0), "at least one"),
        (Request((5,) * CONTEXT, 1), "do not fit the context"),
    ],
)
def test_a_request_that_cannot_be_run_is_refused(model: Model, request_: Request, message: str) -> None:
    with (
        Runtime(compile(load("sync")), pipeline_of(model)) as run,
        Engine(run, SIZES) as engine,
        pytest.raises(RequestError, match=message),
    ):
        list(engine.generate([request_]))
