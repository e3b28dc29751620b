"""The pre-commit hook and the GitHub Action call the command as it is."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.graph.cli import topologies as files

ROOT = Path(__file__).parents[3]


def test_the_hook_calls_a_command_line_that_works(laneflow, write):
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    write("topologies/ring.yaml", files.SOUND)
    program, *words = shlex.split(hook["entry"])
    assert program == "laneflow"
    assert laneflow(*words, "topologies/ring.yaml").code == 0


def action_step(tmp_path, targets, options=""):
    """Run the action's last step as a runner would: by bash with -e, the inputs in its environment."""
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    assert action["runs"]["using"] == "composite"
    step = action["runs"]["steps"][-1]
    assert step["env"] == {"TARGETS": "${{ inputs.targets }}", "OPTIONS": "${{ inputs.options }}"}
    program = tmp_path / "laneflow" / "bin" / "laneflow"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m graph "$@"\n')
    program.chmod(0o755)
    env = {**os.environ, "RUNNER_TEMP": str(tmp_path), "TARGETS": targets, "OPTIONS": options}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


def test_the_action_passes_a_sound_folder(write, tmp_path):
    write("topologies/ring.yaml", files.SOUND)
    done = action_step(tmp_path, "topologies")
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(("targets", "options"), [("t/ring.yaml t/two.yaml", ""), ("t", "--strict")])
def test_the_action_annotates_and_fails(write, tmp_path, targets, options):
    write("t/ring.yaml", files.RACE)
    write("t/two.yaml", files.SOUND)
    done = action_step(tmp_path, targets, options)
    assert done.returncode == 1
    assert done.stdout.startswith("::error file=t/ring.yaml,line=8,")


def test_an_input_is_never_run_as_code(write, tmp_path):
    write("topologies/ring.yaml", files.SOUND)
    done = action_step(tmp_path, "topologies $(touch hacked) `touch hacked` ; touch hacked")
    assert done.returncode == 2
    assert not (tmp_path / "hacked").exists()
