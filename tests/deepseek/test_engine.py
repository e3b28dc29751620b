"""Requests through every shipped topology: the same tokens, whatever the lanes, and nothing left behind."""

import pytest
import torch

from deepseek.bundled import PATH
from deepseek.checkpoint import load_model
from deepseek.engine import Engine, Request, RequestError
from deepseek.model.network import Model
from deepseek.pipeline import executor
from deepseek.steps import Sampling
from graph import Executor, Runtime, StepError, compile, load
from graph.node import Node, Step

TOPOLOGIES = ("sync", "pingpong", "overlap", "deep", "latebind")
CONTEXT = 192
SIZES = {"batch": 8, "capacity": 8, "chunk": 16}
LENGTHS = (1, 5, 16, 17, 31, 40, 63, 90)


@pytest.fixture(scope="module")
def model() -> Model:
    torch.set_num_threads(1)
    return load_model(PATH, capacity=SIZES["capacity"], context=CONTEXT)


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
    with Runtime(compile(load(topology, overrides)), pipeline, threads=1, checked=checked) as run:
        batch, chunk = pipeline.dims["batch"], pipeline.dims["chunk"]
        for event in Engine(run, batch=batch, chunk=chunk, context=CONTEXT).generate(requests):
            if event.token is not None:
                tokens[event.request].append(event.token)
            finishes[event.request] = event.finish or finishes[event.request]
    assert run.held_slots() == []
    assert run.rows is not None
    assert run.rows.taken == 0
    return tokens, finishes, run


def pipeline_of(model: Model, **sizes: int) -> Executor:
    return executor(model, context=CONTEXT, **{**SIZES, **sizes})


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
    "sizes", [{"chunk": 5}, {"chunk": 64}, {"batch": 4, "capacity": 4}, {"batch": 4, "capacity": 6}]
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


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize(
    "name", ["prepare", "bind", "dispatch", "reclaim", "release", "prefill", "reclaim_prefill"]
)
def test_a_failed_step_fails_its_requests_and_no_others(model: Model, topology: str, name: str) -> None:
    requests = [Request(prompt, 12) for prompt in prompts()[:4]]
    expected, _, _ = run_through("sync", pipeline_of(model, batch=4, capacity=4), requests)
    pipeline = pipeline_of(model, batch=4, capacity=4)
    failing = FailsOnce(pipeline.nodes[name], 0 if "prefill" in name else 9)
    pipeline = Executor(
        {**pipeline.nodes, name: failing},
        pipeline.capabilities,
        pipeline.resources,
        pipeline.dims,
        pipeline.routes,
    )
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
    pipeline = Executor(
        {**pipeline.nodes, "prefill": failing}, pipeline.capabilities, pipeline.resources, pipeline.dims
    )
    with Runtime(compile(load("pingpong")), pipeline) as run:
        events = list(Engine(run, batch=8, chunk=16, context=CONTEXT).generate([Request((5, 6), 4)]))
    assert [event.finish for event in events] == ["error"]
    assert isinstance(events[0].error, StepError)
    assert (events[0].error.node, events[0].error.step) == ("prefill", 0)


def test_an_executor_without_device_state_runs_the_fallback_with_the_same_tokens(model: Model) -> None:
    requests = [Request(prompt, 12) for prompt in prompts()]
    expected, _, plain = run_through("pingpong", pipeline_of(model), requests)
    assert plain.fallback_reason is None
    full = pipeline_of(model)
    lacking = Executor(full.nodes, frozenset(), full.resources, full.dims, full.routes)
    tokens, _, run = run_through("pingpong", lacking, requests)
    assert tokens == expected
    assert run.topology_name == "sync"
    assert run.fallback_reason is not None
    assert "`pingpong` requires device_state" in run.fallback_reason


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request((), 4), "the prompt is empty"),
        (Request((5,), 0), "at least one"),
        (Request((5,) * CONTEXT, 1), "do not fit the context"),
    ],
)
def test_a_request_that_cannot_be_run_is_refused(model: Model, request_: Request, message: str) -> None:
    with Runtime(compile(load("sync")), pipeline_of(model)) as run:
        engine = Engine(run, batch=8, chunk=16, context=CONTEXT)
        with pytest.raises(RequestError, match=message):
            list(engine.generate([request_]))
