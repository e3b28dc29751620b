"""The benchmark on a GPU, on its stand-in: every way runs, the report has every figure, and the tokens are compared."""

import json

import pytest
import torch

from benchmarks import gpu, gpu_decode
from benchmarks.gpu_decode import Comparison, best_two_apart, compare
from benchmarks.gpu_device import Cuda, StandIn, launch_and_wait
from benchmarks.gpu_ways import WAYS, figures
from benchmarks.workloads import WORKLOADS
from deepseek.bundled import PATH
from deepseek.checkpoint import load_model

MS = 1_000_000
NAMES = ["W2", "W3"]
STEPS = 12
TOKENS = 6


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    out = tmp_path_factory.mktemp("gpu")
    words = ["--stand-in", "--rounds", "2", "--steps", str(STEPS), "--tokens", str(TOKENS), "--out", str(out)]
    threads = torch.get_num_threads()
    try:
        code = gpu.main([*words, "--workloads", *NAMES])
    finally:
        torch.set_num_threads(threads)
    return code, json.loads((out / "gpu.json").read_text()), (out / "gpu.md").read_text()


def test_every_way_has_figures_of_every_round_and_workload(report):
    code, told, _ = report
    assert code == 0
    assert {(run["workload"], run["way"], run["round"]) for run in told["runs"]} == {
        (name, way, number) for name in NAMES for way in WAYS for number in range(2)
    }
    for run in told["runs"]:
        assert run["step"] == pytest.approx(WORKLOADS[run["workload"]].device_ms)
        assert run["period"] >= run["step"]
        assert run["gap_p99"] >= run["gap"] >= 0
        assert (run["ratio"] is None) == (run["step"] == 0)


def test_the_table_says_on_what_it_was_measured_and_has_a_row_for_each_way(report):
    _, told, text = report
    assert all(f"{name} {value}" in text for name, value in told["about"].items())
    assert "no figure of a GPU" in text
    rows = [line for line in text.splitlines() if line.startswith("| W")]
    assert len(rows) == len(NAMES) * len(WAYS)
    assert len({line.count("|") for line in rows}) == 1


def test_decoded_tokens_are_compared_with_the_cpus(report):
    _, told, text = report
    tokens = told["decoding"]["tokens"]
    assert tokens == {"same": TOKENS * 4, "compared": TOKENS * 4, "ties": [], "faults": []}
    assert told["decoding"]["step"] > 0
    assert f"{TOKENS * 4} of {TOKENS * 4}" in text


@pytest.fixture(scope="module")
def model():
    return load_model(PATH, capacity=1, context=64, rows_per_step=2)


def test_where_answers_part_the_cpus_logits_tell_a_tie_from_a_fault(model, monkeypatch):
    expected = [[7, 8, 9]] * gpu_decode.BATCH
    found = [[7, 8, 9], [7, 1, 9], [7, 8, 9], [7, 8, 9]]
    apart = best_two_apart(model, [*gpu_decode.prompts()[1], 7])
    told = f"prompt 1, token 1: 1 for 8, best two {apart:.1e} apart"
    assert apart > gpu_decode.TIE
    assert compare(found, expected, model) == Comparison(10, 11, (), (told,))
    monkeypatch.setattr(gpu_decode, "TIE", 2 * apart)
    assert compare(found, expected, model) == Comparison(10, 11, (told,), ())


def test_an_answer_that_ends_early_is_a_fault(model):
    expected = [[7, 8, 9]] * gpu_decode.BATCH
    found = [*expected[:3], [7, 8]]
    assert compare(found, expected, model) == Comparison(11, 12, (), ("prompt 3: 2 tokens for 3",))


def test_tokens_that_differ_without_a_tie_are_told_and_end_with_1(report, monkeypatch, capsys):
    decoding = gpu_decode.Decoding("eager", 1.0, 1.0, 0.04, 0.1, Comparison(1, 2, (), ("prompt 0: wrong",)))
    monkeypatch.setattr(gpu_decode, "measure", lambda device, tokens: decoding)
    monkeypatch.setattr(torch, "set_num_threads", lambda count: None)
    assert gpu.main(["--stand-in", "--rounds", "1", "--steps", "12", "--workloads", "W3"]) == 1
    told = capsys.readouterr().out
    assert "NOT A TIE: prompt 0: wrong." in told
    assert "| missed | 1 of 2 |" in told


def test_figures_are_of_the_devices_own_clock_without_the_warm_up():
    starts = [0, *(100 * MS + 12 * MS * step for step in range(20))]
    found = figures([(start, start + 10 * MS) for start in starts], alone_ms=8)
    assert (found.period, found.step, found.gap, found.gap_p99, found.ratio) == (12, 10, 2, 2, 1.5)


def test_a_step_that_is_launched_and_waited_for_has_an_interval_as_long_as_the_kernel():
    device = StandIn()
    queue, kernel = device.queue("test"), device.kernel(3)
    try:
        began, ended = launch_and_wait(device, queue, kernel)
    finally:
        queue.close()
    assert ended - began == 3 * MS


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_cuda_device_one_line_says_so(capsys):
    assert gpu.main([]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert "--stand-in" in printed.err


def test_too_few_steps_for_figures_are_refused(capsys):
    with pytest.raises(SystemExit) as caught:
        gpu.main(["--stand-in", "--steps", "3"])
    assert caught.value.code == 2
    assert "at least 12" in capsys.readouterr().err


GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


@pytest.mark.gpu
@GPU
@pytest.mark.parametrize("milliseconds", [1.0, 5.0, 45.0])
def test_on_the_device_a_kernel_takes_about_as_long_as_asked(milliseconds):
    device = Cuda()
    queue, kernel = device.queue("test"), device.kernel(milliseconds)
    try:
        intervals = [launch_and_wait(device, queue, kernel) for _ in range(5)]
    finally:
        queue.close()
    assert kernel.milliseconds == pytest.approx(milliseconds, rel=0.3)
    assert min(ended - began for began, ended in intervals) / MS == pytest.approx(
        kernel.milliseconds, rel=0.2
    )


@pytest.mark.gpu
@GPU
def test_on_the_device_decoding_gives_the_cpus_tokens_by_a_captured_step():
    found = gpu_decode.measure("cuda", tokens=24)
    assert found.tokens.faults == ()
    assert found.way == "a captured CUDA graph"
    assert found.gap is not None
