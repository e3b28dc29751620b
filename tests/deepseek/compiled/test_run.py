"""`laneflow run` prints the same compiled and eager: the bundled checkpoint, and the reference checkpoints."""

import json
from pathlib import Path
from typing import Any

import pytest

from deepseek.compiled import Choice
from graph.cli import main
from tests.deepseek.references import NAMES, PARITY, reference

TOPOLOGIES = ("sync", "pingpong", "overlap", "deep", "latebind", "stream")


def results(capsys: pytest.CaptureFixture[str], way: str, *words: str) -> list[dict[str, Any]]:
    """The lines of a run, which must have gone the way that was asked for."""
    assert main(["run", *words, "--json", "--ignore-eos", f"--{way}"]) == 0
    captured = capsys.readouterr()
    assert ("eager (as asked)" if way == "eager" else "compiled") in captured.err
    return [json.loads(line) for line in captured.out.splitlines()]


@pytest.mark.parametrize("sampling", [("--temperature", "1.1", "--top-p", "0.9", "--seed", "3")])
def test_the_bundled_checkpoint_prints_the_same(
    compiled: Choice, capsys: pytest.CaptureFixture[str], sampling: tuple[str, ...]
) -> None:
    prompts = [word for number in range(6) for word in ("--prompt", "lane " * (1 + 4 * number) + str(number))]
    words = (*prompts, "--max-tokens", "64", *sampling)
    expected = results(capsys, "eager", "sync", *words)
    for topology in TOPOLOGIES:
        assert results(capsys, "compile", topology, *words) == expected, topology


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", NAMES)
def test_a_reference_checkpoint_gives_the_reference_tokens(
    user_cache: None, capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    known = reference(name)
    ids = tmp_path / "ids.json"
    ids.write_text(json.dumps([prompt.ids.tolist() for prompt in known.prompts]))
    words = ("deep", "--model", str(PARITY / name), "--prompt-ids", str(ids), "--max-tokens", "64")
    found = results(capsys, "compile", *words)
    assert [line["output_ids"] for line in found] == [prompt.greedy for prompt in known.prompts]
