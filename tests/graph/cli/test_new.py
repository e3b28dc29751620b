"""`laneflow new`: what it writes is proved, runs and passes its own tests; what is there already stays."""

import os
import subprocess
import sys

import pytest

from graph import yaml_tree
from graph.cli.new import TEMPLATES
from graph.schema import file_schema
from tests.graph.cli.conftest import Called


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """One project, used by tests that change nothing in it."""
    folder = tmp_path_factory.mktemp("new")
    done = python("-m", "graph", "new", "words", cwd=folder)
    assert (done.code, done.err) == (0, "")
    return folder / "words"


def python(*words, cwd):
    command = [sys.executable, *map(str, words)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)
    return Called(done.returncode, done.stdout, done.stderr)


def files_under(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_the_topology_is_sound_and_the_nodes_fit_it(project):
    called = python(
        "-m",
        "graph",
        "validate",
        "words/words.yaml",
        "--strict",
        "--bind",
        "words.pipeline:pipeline",
        cwd=project,
    )
    assert (called.code, called.out, called.err) == (0, "words/words.yaml: sound\n", "")


def test_it_runs(project):
    called = python("-m", "words", "README.md", cwd=project)
    lines = (project / "README.md").read_text("utf-8").splitlines()
    assert (called.code, called.err) == (0, "")
    assert [line[8:] for line in called.out.splitlines()] == lines
    assert float(called.out[:6]) == 8.0  # nothing has been seen: each of 256 words is as likely


def test_a_lane_in_a_process_of_its_own_gives_the_same_results(project):
    threads = python("-m", "words", "README.md", cwd=project)
    process = python("-m", "words", "README.md", "lanes.device.worker=process", cwd=project)
    assert (process.code, process.err, process.out) == (0, "", threads.out)


def test_it_records_a_run(project, tmp_path):
    trace = tmp_path / "trace.json"
    assert python("-m", "words", "README.md", "--trace", trace, cwd=project).code == 0
    report = python("-m", "graph", "report", trace, cwd=project)
    assert report.out.startswith("words, route default: ")


def test_what_it_cannot_run_is_one_error(project, write):
    called = python("-m", "words", "README.md", "buffers.inputs.slots=0", cwd=project)
    assert called.code == 2
    assert "LF002" in called.err
    called = python("-m", "words", write("long.txt", "word " * 33), cwd=project)
    assert called.code == 1
    assert called.err.startswith("step 0 failed in `prepare`")


def test_its_own_tests_pass(project):
    called = python("-W", "error", "-m", "pytest", "-q", cwd=project)
    assert called.code == 0, called.out
    assert "7 passed" in called.out


@pytest.mark.parametrize("name", ["words", "w", "a_name_of_thirty_two_characters_"])
def test_it_passes_the_linter_and_the_formatter_under_any_name(laneflow, tmp_path, name):
    pytest.importorskip("ruff")
    assert laneflow("new", name).code == 0
    checked = python("-m", "ruff", "check", ".", cwd=tmp_path / name)
    assert checked.code == 0, checked.out
    formatted = python("-m", "ruff", "format", "--check", ".", cwd=tmp_path / name)
    assert formatted.code == 0, formatted.out


@pytest.mark.slow
def test_its_types_are_strict(project):
    pytest.importorskip("mypy")
    called = python("-m", "mypy", "words", "tests", cwd=project)
    assert called.code == 0, called.out


def test_an_editor_finds_the_schema(project):
    topology = (project / "words" / "words.yaml").read_text("utf-8")
    assert topology.splitlines()[0] == "# yaml-language-server: $schema=./schema.json"
    schema = yaml_tree.plain(
        yaml_tree.parse((project / "words" / "schema.json").read_text("utf-8"), "schema.json")
    )
    assert schema == file_schema()


def test_what_comes_next_is_printed(laneflow):
    called = laneflow("new", "words", "--dir", "a/b")
    assert called.code == 0
    assert called.out.splitlines() == [
        "a/b: 8 files. In that folder:",
        "  laneflow validate words/words.yaml --bind words.pipeline:pipeline",
        "  python -m words README.md",
        "  python -m pytest",
    ]


def test_no_template_is_left_unfilled_or_unused(laneflow, tmp_path):
    assert laneflow("new", "words").code == 0
    written = files_under(tmp_path / "words")
    assert written == sorted(
        [*(path.replace("{{name}}", "words") for path in TEMPLATES), "words/schema.json"]
    )
    assert not any("{{" in (tmp_path / "words" / file).read_text("utf-8") for file in written)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("my-pipe", "did you mean `my_pipe`?"),
        ("Words", "did you mean `words`?"),
        ("2words", "did you mean `words`?"),
        ("a/b", "did you mean `a_b`?"),
        ("", "a letter first"),
        ("..", "a letter first"),
        ("wörter", "a letter first"),
        ("_", "a letter first"),
        ("a" * 33, "up to 32"),
        ("class", "a word of Python's own"),
        ("json", "another module"),
        ("torch", "another module"),
        ("graph", "another module"),
        ("tests", "another module"),
    ],
)
def test_a_name_that_cannot_be_had_is_refused(laneflow, tmp_path, name, said):
    called = laneflow("new", name, "--dir", "here")
    assert (called.code, called.out) == (2, "")
    assert said in called.err
    assert called.err.count("\n") == 1
    assert files_under(tmp_path) == []


@pytest.mark.parametrize("file", ["README.md", "words/words.yaml", "tests/test_words.py"])
def test_no_file_is_overwritten(laneflow, write, tmp_path, file):
    write(f"words/{file}", "mine")
    called = laneflow("new", "words")
    assert (called.code, called.out) == (2, "")
    assert f"`words/{file}` is there already" in called.err
    assert files_under(tmp_path) == [f"words/{file}"]
    assert (tmp_path / "words" / file).read_text() == "mine"


def test_a_link_that_leads_nowhere_is_a_file_too(laneflow, tmp_path):
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "README.md").symlink_to(tmp_path / "elsewhere")
    assert laneflow("new", "words").code == 2
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_with_other_files_is_no_obstacle(laneflow, write, tmp_path):
    write("words/notes.txt", "mine")
    assert laneflow("new", "words").code == 0
    assert "notes.txt" in files_under(tmp_path / "words")


def test_a_file_in_the_place_of_a_folder(laneflow, write, tmp_path):
    write("words/tests", "mine")
    called = laneflow("new", "words")
    assert (called.code, called.out) == (2, "")
    assert "cannot be written" in called.err
    assert files_under(tmp_path) == ["words/tests"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_to(laneflow, tmp_path):
    tmp_path.chmod(0o500)
    try:
        called = laneflow("new", "words")
    finally:
        tmp_path.chmod(0o700)
    assert (called.code, called.out) == (2, "")
    assert "Permission denied" in called.err


def test_a_full_disk_leaves_nothing_behind(laneflow, tmp_path, monkeypatch):
    written = []

    def full(self, mode="r", **kwargs):
        written.extend([self] if mode == "x" else [])
        if len(written) == 4:
            raise OSError(28, "No space left on device", str(self))
        return open(self, mode, **kwargs)

    monkeypatch.setattr("pathlib.Path.open", full)
    called = laneflow("new", "words")
    assert (called.code, called.out) == (2, "")
    assert "No space left on device" in called.err
    monkeypatch.undo()
    assert files_under(tmp_path) == []
