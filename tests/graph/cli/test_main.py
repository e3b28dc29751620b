import io
import os
import signal
import subprocess
import sys
import time
from importlib import metadata
from importlib.metadata import EntryPoint, EntryPoints

import pytest

import graph.cli
from tests.graph.cli import topologies as files


def command_line(*words, **options):
    return subprocess.run(
        [sys.executable, "-m", "graph", *words], capture_output=True, text=True, timeout=60, **options
    )


def test_the_module_is_the_command(write, tmp_path):
    write("ring.yaml", files.SOUND)
    done = command_line("validate", "ring.yaml", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ring.yaml: sound\n", "")


def test_version(laneflow):
    called = laneflow("--version")
    assert (called.code, called.out) == (0, f"laneflow {metadata.version('laneflow')}\n")


def test_help_lists_every_command_and_the_applications(laneflow):
    called = laneflow("--help")
    assert called.code == 0
    listed = {line.split()[0] for line in called.out.split("\n") if line.strip()}
    assert {*graph.cli.BUILT_IN, "run"} <= listed


def test_help_of_a_command(laneflow):
    called = laneflow("validate", "--help")
    assert called.code == 0
    assert "--strict" in called.out


def test_no_command_is_wrong_usage_and_shows_the_help(laneflow):
    called = laneflow()
    assert (called.code, called.out) == (2, "")
    assert "validate" in called.err


def test_an_unknown_command_gets_the_nearest(laneflow):
    called = laneflow("vaildate", "x.yaml")
    assert called.code == 2
    assert called.err == "laneflow: no command `vaildate`; did you mean `validate`?\n"


@pytest.mark.parametrize("text", [files.SOUND, files.RACE])
def test_validation_imports_neither_torch_nor_an_application(write, tmp_path, text):
    write("ring.yaml", text)
    script = (
        "import sys; from graph.cli import main; main(['validate', 'ring.yaml']);"
        "heavy = {'torch', 'numpy', 'rich', 'psutil', 'deepseek', 'nodes'} & set(sys.modules);"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_help_imports_no_torch():
    script = "import sys; from graph.cli import main; main(['--help']); sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert "run " in done.stdout


class Greet:
    help = "greet 100% of them"

    def add_arguments(self, parser):
        parser.add_argument("name")
        parser.add_argument("words", nargs="*")
        parser.add_argument("--loud", action="store_true")

    def run(self, args):
        print(args.name, *args.words, args.loud)
        return 7


GREET = Greet()


@pytest.fixture
def installed(monkeypatch):
    """Entry points as if packages had been installed that declare them."""

    def install(**values):
        entries = EntryPoints(EntryPoint(name, value, graph.cli.GROUP) for name, value in values.items())
        monkeypatch.setattr(graph.cli, "_applications", lambda: entries)

    return install


def test_an_application_adds_a_command(laneflow, installed):
    installed(greet=f"{__name__}:GREET")
    called = laneflow("greet", "a", "--loud", "b")
    assert (called.code, called.out) == (7, "a b True\n")
    assert "greet 100% of them" in laneflow("--help").out


def test_an_application_that_cannot_be_imported_hides_no_other(laneflow, installed):
    installed(broken="nowhere.at_all:X", greet=f"{__name__}:GREET")
    called = laneflow("--help")
    assert called.code == 0
    assert "cannot be loaded from nowhere.at_all:X" in " ".join(called.out.split())
    assert "greet 100% of them" in called.out
    assert laneflow("broken").code == 2


def test_an_application_cannot_take_the_place_of_a_command(laneflow, installed, write):
    installed(validate=f"{__name__}:GREET")
    write("ring.yaml", files.SOUND)
    assert laneflow("validate", "ring.yaml").out == "ring.yaml: sound\n"


def test_an_internal_error_is_one_line(laneflow, monkeypatch):
    def broken():
        raise ZeroDivisionError("no\nlanes")

    monkeypatch.setattr(graph.cli, "_applications", broken)
    called = laneflow("nothing")
    assert called.code == 1
    assert called.err.startswith("laneflow: internal error at __init__.py:")
    assert "ZeroDivisionError: no lanes" in called.err
    assert called.err.count("\n") == 1


def test_a_reader_that_goes_away_is_no_traceback():
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "graph", "explain"],
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_names_that_the_terminal_cannot_encode_are_escaped(write, tmp_path):
    write("r.yaml", files.SOUND.replace("  prepare ->", "  präpariere ->"))
    done = command_line("validate", "r.yaml", cwd=tmp_path, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 1
    assert "pr\\xe4pariere" in done.stderr
    assert "Traceback" not in done.stderr


def test_colour_is_for_terminals_and_only_if_wanted(monkeypatch):
    from graph.cli.terminal import coloured

    class Stream(io.StringIO):
        def __init__(self, terminal):
            super().__init__()
            self.terminal = terminal

        def isatty(self):
            return self.terminal

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert coloured(Stream(terminal=True))
    assert not coloured(Stream(terminal=False))
    monkeypatch.setenv("NO_COLOR", "1")
    assert not coloured(Stream(terminal=True))


def shell(redirected):
    script = f'"$0" -m graph {redirected}'
    return subprocess.run(
        ["sh", "-c", script, sys.executable], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    ("redirected", "told"),
    [
        ("validate - <&-", "laneflow: `-`: standard input is closed\n"),
        ("validate sync >&-", "laneflow: standard output is closed\n"),
        (
            "validate sync >/dev/full",
            "laneflow: standard output cannot be written: No space left on device\n",
        ),
        ("list >/dev/full", "laneflow: standard output cannot be written: No space left on device\n"),
    ],
)
def test_a_stream_that_is_closed_or_full_is_no_bug_of_ours(redirected, told):
    if "/dev/full" in redirected and not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    done = shell(redirected)
    assert (done.returncode, done.stderr) == (2, told)


def test_with_both_streams_closed_the_exit_code_still_tells():
    assert shell("validate sync >&- 2>&-").returncode == 2


class Stopped:
    """A command that is stopped by a signal to its own process, and tidies up."""

    help = "is stopped"

    def __init__(self, number):
        self.number, self.tidied = number, False

    def add_arguments(self, parser):
        pass

    def run(self, arguments):
        try:
            os.kill(os.getpid(), self.number)
            time.sleep(30)
        finally:
            self.tidied = True


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_to_stop_is_an_exit_code_once_all_is_tidied_up(laneflow, monkeypatch, number, code):
    command = Stopped(number)
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(graph.cli, "_find", lambda name: command)
    assert laneflow("stopped").code == code
    assert command.tidied
    assert signal.getsignal(signal.SIGTERM) is before


def test_an_application_keeps_its_own_way_to_be_terminated(laneflow, monkeypatch):
    came = []
    before = signal.signal(signal.SIGTERM, lambda *_: came.append("own"))
    try:
        command = Stopped(signal.SIGTERM)
        monkeypatch.setattr(graph.cli, "_find", lambda name: command)
        monkeypatch.setattr(time, "sleep", lambda seconds: None)
        laneflow("stopped")
    finally:
        signal.signal(signal.SIGTERM, before)
    assert came == ["own"]
