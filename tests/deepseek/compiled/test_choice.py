"""Whether a step runs compiled, and what is said where it does not."""

from dataclasses import replace
from pathlib import Path

import pytest

from deepseek.compiled import cache, choose
from graph.cli import main
from tests.deepseek.compiled.conftest import SHAPE

PROMPT = ("--prompt", "Hello", "--max-tokens", "4", "--json")


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_without_a_compiled_step_the_eager_way_says_how_to_get_one(caplog: pytest.LogCaptureFixture) -> None:
    choice = choose(SHAPE, "cpu", "cached")
    assert choice.step is None
    assert choice.fell_back
    assert "--compile" in str(choice)
    assert "--compile" in caplog.text


def test_the_eager_way_is_no_fallback_where_it_was_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    choice = choose(SHAPE, "cpu", "eager")
    assert str(choice) == "eager (as asked)"
    assert not choice.fell_back
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("device", "dtype", "named"), [("cuda", "float32", "cuda"), ("cpu", "bfloat16", "bfloat16")]
)
def test_what_is_never_compiled_is_a_fallback_only_if_compiling_was_asked_for(
    device: str, dtype: str, named: str
) -> None:
    shape = replace(SHAPE, dtype=dtype)
    assert named in str(choose(shape, device, "cached"))
    assert not choose(shape, device, "cached").fell_back
    assert choose(shape, device, "compile").fell_back


def test_a_machine_without_a_compiler_is_told_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    choice = choose(SHAPE, "cpu", "compile")
    assert choice.fell_back
    assert "no C++ compiler" in choice.reason
    assert "no C++ compiler" in caplog.text
    assert list(cache.directory().iterdir()) == []


@pytest.mark.slow
def test_a_compiler_that_fails_is_a_reason_not_a_traceback(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    compiler = tmp_path / "g++"
    compiler.write_text("#!/bin/sh\ncase $1 in --version|-v) echo 'g++ (GCC) 12.0.0';; *) exit 1;; esac\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    choice = choose(SHAPE, "cpu", "compile")
    assert choice.fell_back
    assert "could not be compiled" in choice.reason
    assert "\n" not in choice.reason


def test_a_cache_that_cannot_be_written_is_a_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert "cannot be written" in choose(SHAPE, "cpu", "compile").reason


def test_a_file_that_is_no_library_is_a_reason() -> None:
    cache.directory().mkdir(parents=True)
    built = cache.directory() / "built"
    built.write_bytes(b"not a library")
    cache.publish(cache.key(SHAPE), built)
    assert "cannot load it" in choose(SHAPE, "cpu", "cached").reason


def test_a_run_reports_its_way_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "sync", *PROMPT]) == 0
    report = " ".join(capsys.readouterr().err.split())
    assert "eager (not compiled yet" in report
    assert main(["run", "sync", *PROMPT, "--eager"]) == 0
    assert "eager (as asked)" in capsys.readouterr().err


def test_strict_makes_an_eager_step_an_error_unless_it_was_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "sync", *PROMPT, "--strict"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "--strict: no compiled decode step: not compiled yet" in captured.err
    assert main(["run", "sync", *PROMPT, "--strict", "--eager"]) == 0


def test_compiled_and_eager_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "sync", *PROMPT, "--compile", "--eager"]) == 2
    assert "not allowed with" in capsys.readouterr().err
