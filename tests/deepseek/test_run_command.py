"""`laneflow run` as a user meets it: text and JSON out, and one clear line for everything that cannot be run."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from deepseek.bundled import PATH
from deepseek.decode import Dispatch
from graph.cli import main

TOPOLOGIES = ("sync", "pingpong", "overlap", "deep", "latebind")
PARITY = Path(__file__).parent / "parity"


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["run", *words])
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return code, captured.out, captured.err


def results(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    code, out, _ = run(capsys, *words, "--json")
    assert code == 0
    return [json.loads(line) for line in out.splitlines()]


def test_text_streams_to_stdout_and_the_table_follows(capsys: pytest.CaptureFixture[str]) -> None:
    line = results(capsys, "pingpong", "--prompt", "Hello", "--max-tokens", "12")[0]
    code, out, err = run(capsys, "pingpong", "--prompt", "Hello", "--max-tokens", "12")
    assert code == 0
    assert out.startswith(line["text"] + "\n")
    table = out[len(line["text"]) :]
    for name in ("topology", "steps", "period", "gap_py", "gap_true", "prepare(k+1)", "reclaim(k)"):
        assert name in table
    assert err == ""


def test_json_has_one_line_a_request_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    found = results(
        capsys, "pingpong", "--prompt", "Hello", "--prompt", "A b", "--max-tokens", "7", "--ignore-eos"
    )
    assert [line["request"] for line in found] == [0, 1]
    assert all(set(line) == {"request", "prompt_ids", "output_ids", "text", "finish"} for line in found)
    assert all(len(line["output_ids"]) == 7 for line in found)
    assert found[1]["prompt_ids"] == [0, *(2 + byte for byte in b"A b")]


@pytest.mark.parametrize("topology", ["pingpong", "latebind"])
def test_any_number_of_drafts_prints_the_same(capsys: pytest.CaptureFixture[str], topology: str) -> None:
    words = (topology, "--prompt", "The lanes of", "--prompt", "a", "--max-tokens", "40", "--ignore-eos")
    expected = results(capsys, *words, "--mtp", "0")
    for drafts in ("1", "2", "3"):
        assert results(capsys, *words, "--mtp", drafts) == expected
    assert results(capsys, *words) == expected  # one draft, as the checkpoint has a block


def test_a_checkpoint_without_a_prediction_block_decodes_without_drafts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shutil.copy(PARITY / "only_csa" / "config.json", tmp_path)
    tensors = load_file(PARITY / "only_csa" / "model.safetensors")
    without = {name: tensor for name, tensor in tensors.items() if not name.startswith("mtp.")}
    save_file(without, tmp_path / "model.safetensors")
    ids = tmp_path / "ids.json"
    ids.write_text("[[5, 6, 7]]")
    words = ["run", "pingpong", "--model", str(tmp_path), "--prompt-ids", str(ids), "--max-tokens", "4"]
    assert main(words) == 0
    assert "drafts accepted" not in capsys.readouterr().out
    assert main([*words, "--mtp", "1"]) == 2
    assert "has no prediction block (mtp.0.*): decode with --mtp 0" in capsys.readouterr().err


def test_a_byte_order_mark_is_no_part_of_the_first_prompt(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("Hello\n", encoding="utf-8-sig")
    (line,) = results(capsys, "pingpong", "--prompts", str(prompts), "--max-tokens", "2")
    assert line["prompt_ids"] == [0, *(2 + byte for byte in b"Hello")]


def test_a_stop_string_ends_the_text_before_it(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("pingpong", "--prompt", "The lanes of", "--max-tokens", "40", "--ignore-eos")
    (plain,) = results(capsys, *words)
    stop = plain["text"][10:13]
    (cut,) = results(capsys, *words, "--stop", stop)
    assert cut["text"] == plain["text"][: plain["text"].index(stop)]
    assert cut["finish"] == "stop"


def test_the_report_has_what_drafts_brought(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["run", "pingpong", "--prompt", "The lanes of", "--max-tokens", "24", "--device-time", "5"]) == 0
    )
    table = capsys.readouterr().out
    assert "drafts accepted" in table
    assert "tokens per step" in table


def test_a_device_lane_that_is_a_stream_prints_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("pingpong", "--prompt", "The lanes of", "--prompt", "a", "--max-tokens", "30", "--ignore-eos")
    assert results(capsys, *words, "lanes.device.worker=stream") == results(capsys, *words)


def test_every_topology_prints_the_same(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("".join(f"{'word ' * (1 + 3 * number)}{number}\n" for number in range(8)))
    words = ("--prompts", str(prompts), "--max-tokens", "64", "--ignore-eos")
    expected = results(capsys, "sync", *words)
    assert len(expected) == 8
    for topology in TOPOLOGIES[1:]:
        assert results(capsys, topology, *words) == expected, topology


def test_a_reference_checkpoint_gives_the_reference_tokens(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    reference = np.load(PARITY / "b" / "reference.npz")
    count = sum(name.endswith("_greedy_full") for name in reference.files)
    ids = tmp_path / "ids.json"
    ids.write_text(json.dumps([reference[f"p{number}_ids"].tolist() for number in range(count)]))
    found = results(
        capsys,
        "deep",
        "--model",
        str(PARITY / "b"),
        "--prompt-ids",
        str(ids),
        "--max-tokens",
        "64",
        "--ignore-eos",
    )
    for number, line in enumerate(found):
        assert line["output_ids"] == reference[f"p{number}_greedy_full"].tolist()
        assert line["text"] is None


def test_overrides_choose_the_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--prompt", "Hello", "--prompt", "you", "--prompt", "there", "--max-tokens", "9")
    expected = results(capsys, "pingpong", *words)
    sized = ("buffers.inputs.slots=3", "dims.batch=4", "dims.capacity=5", "dims.chunk=2")
    assert results(capsys, "pingpong", *sized, *words) == expected


def test_a_seed_reproduces_sampled_text(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--prompt", "Hello", "--max-tokens", "16", "--temperature", "1.2", "--top-p", "0.9")
    first = results(capsys, "pingpong", *words, "--seed", "5")
    assert results(capsys, "overlap", *words, "--seed", "5") == first
    assert results(capsys, "pingpong", *words, "--seed", "6") != first


def test_a_failed_request_is_told_and_the_exit_code_is_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("device on fire")

    monkeypatch.setattr(Dispatch, "run", fails)
    code, out, err = run(capsys, "pingpong", "--prompt", "Hello", "--max-tokens", "5", "--json")
    assert code == 1
    line = json.loads(out)
    assert "failed in `dispatch`" in line["error"]
    assert "device on fire" in line["error"]
    assert "request 0 failed" in err


PROMPT = ("--prompt", "x")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("pingpnog", *PROMPT), "shipped topologies: "),
        (("decode", *PROMPT), "abstract"),
        (("no/such.yaml", *PROMPT), "no such file"),
        (("pingpong", "buffers.inputs.slots=0", *PROMPT), "LF002"),
        (("pingpong", "lanes.output.nodes=[reclaim]", *PROMPT), "LF101"),
        (("pingpong", "dims.batch=0", *PROMPT), "dims.batch"),
        (("pingpong", "--prompt", ""), "prompt 0 is empty"),
        (("pingpong", *PROMPT, "--max-tokens", "100000"), "exceeds the limit"),
        (("pingpong", *PROMPT, "--max-tokens", "0"), "--max-tokens"),
        (("pingpong", "--prompt", "abcdef", "--context", "8", "--max-tokens", "4"), "exceeds the limit of 8"),
        (("pingpong", "--prompts", "no-such-file"), "cannot be read"),
        (("pingpong", *PROMPT, "--model", "no-such-folder"), "does not exist"),
        (("pingpong", *PROMPT, "--temperature", "-1"), "--temperature"),
        (("pingpong", *PROMPT, "--mtp", "4"), "a step has 0 to 3 drafts"),
        (("pingpong", *PROMPT, "--mtp", "-1"), "a step has 0 to 3 drafts"),
        (("pingpong", *PROMPT, "--stop", ""), "stop string 0 is empty"),
        (("pingpong", *PROMPT, "--device-time", "0"), "milliseconds above 0"),
        (("pingpong", *PROMPT, "--device-time", "nan"), "milliseconds above 0"),
        (("pingpong", *PROMPT, "dims.packed=0"), "dims.packed=0"),
        (("pingpong", *PROMPT, "dims.page=0"), "dims.page=0"),
        (("pingpong", *PROMPT, "dims.capacity=99999999999999999999"), "at most 1073741824"),
        (("pingpong", *PROMPT, "dims.rows=3"), "dims.rows follows from --mtp"),
        (("pingpong", *PROMPT, "dims.blocks=3"), "dims.blocks follows from --context"),
        (("pingpong", *PROMPT, "dims.pages=1", "dims.page=4"), "do not fit 1 pages of 4 positions"),
        (("pingpong", *PROMPT, "--top-p", "0"), "--top-p"),
        (("pingpong", *PROMPT, "--threads", "0"), "--threads"),
        (("pingpong", *PROMPT, "--threads", "100000"), "cores allow at most"),
        (("pingpong", *PROMPT, "--context", "0"), "--context 0: it is at least 1"),
        (("pingpong", *PROMPT, "--context", "-3"), "--context -3"),
        (("pingpong", *PROMPT, "--device", "tpu"), "--device"),
        (("pingpong", *PROMPT, "--device", "cuda:99"), "--device"),
        (("pingpong", "dims.capacity=100000000", *PROMPT), "GiB"),
        (("pingpong",), "one of the arguments --prompt"),
        (("chip_run", *PROMPT), "`chip_run` does not decode: it has no route `decode`"),
    ],
)
def test_what_cannot_start_is_one_clear_message_and_exit_code_two(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], says: str
) -> None:
    code, out, err = run(capsys, *words)
    assert code == 2
    assert out == ""
    assert says in err


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "not JSON"),
        ("[]", "list of lists"),
        ("[[]]", "at least one token id"),
        ("[[1, 2], [99999]]", "prompt 1: 99999 is not a token id"),
        ("[[1.5]]", "1.5 is not a token id"),
        ("[[true]]", "True is not a token id"),
        ('{"a": 1}', "list of lists"),
        ("[" * 100000, "not JSON"),
    ],
)
def test_prompt_ids_that_cannot_be_used_are_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str, says: str
) -> None:
    path = tmp_path / "ids.json"
    path.write_text(content)
    code, out, err = run(capsys, "sync", "--prompt-ids", str(path))
    assert (code, out) == (2, "")
    assert says in err
    assert str(path) in err


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[" * 100000, "nested too deeply"),
        ('{"head_dim": Infinity}', "head_dim is inf"),
        ({"hc_mult": 1 << 40}, "hc_mult"),
        ({"hc_sinkhorn_iters": 1 << 40}, "hc_sinkhorn_iters"),
        ({"sliding_window": True}, "sliding_window"),
    ],
)
def test_a_damaged_configuration_is_named_before_anything_is_loaded(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str | dict[str, object], says: str
) -> None:
    path = tmp_path / "config.json"
    if isinstance(content, dict):
        content = json.dumps(json.loads((PATH / "config.json").read_text()) | content)
    path.write_text(content)
    code, out, err = run(capsys, "sync", "--model", str(tmp_path), "--prompt", "x")
    assert (code, out) == (2, "")
    assert err.startswith(f"laneflow: {path}: ")
    assert says in err
    assert err.count("\n") == 1


def test_an_empty_line_among_prompts_is_named_by_its_number(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "prompts.txt"
    path.write_text("one\n\nthree\n")
    code, _, err = run(capsys, "sync", "--prompts", str(path))
    assert code == 2
    assert f"{path}:2 is empty" in err


def damaged(tmp_path: Path, change: str) -> Path:
    folder = tmp_path / "checkpoint"
    shutil.copytree(PATH, folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    file = folder / "model.safetensors"
    tensors = load_file(file)
    if change == "missing":
        del tensors["model.layers.0.self_attn.kv_proj.weight"]
    else:
        tensors["lm_head.weight"] = torch.zeros(3, 5)
    save_file(tensors, file)
    return folder


@pytest.mark.parametrize(
    ("change", "says"),
    [("missing", "model.layers.0.self_attn.kv_proj.weight"), ("shape", "[3, 5]")],
)
def test_a_damaged_checkpoint_is_refused_by_tensor(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, change: str, says: str
) -> None:
    folder = damaged(tmp_path, change)
    code, out, err = run(capsys, "pingpong", "--model", str(folder), *PROMPT)
    assert (code, out) == (2, "")
    assert says in err
    assert str(folder) in err
    assert len(err.strip().splitlines()) == 1


def test_a_checkpoint_without_a_tokenizer_asks_for_token_ids(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "pingpong", "--model", str(PARITY / "b"), *PROMPT)
    assert code == 2
    assert "--prompt-ids" in err
