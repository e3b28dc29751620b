import sys

import pytest

from tests.graph.cli import topologies as files

PIPELINE = """\
from graph.node import Executor, Ports


class Quiet:
    ports = None

    def start(self, context): ...

    def run(self, step, slots): ...

    def stop(self): ...


class Fill(Quiet):
    ports = Ports(writes=("inputs.tokens",))


def pipeline():
    return Executor(nodes={"prepare": Fill(), "dispatch": Quiet(), "release": Quiet()})


def incomplete():
    return Executor(nodes={"prepare": Fill()})


def nothing():
    return None


def failing():
    raise OSError("no device")
"""


@pytest.fixture(autouse=True)
def application(write, tmp_path, monkeypatch):
    write("ringapp.py", PIPELINE)
    write("ring.yaml", files.SOUND)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "ringapp", raising=False)


def test_an_executor_beside_the_user_that_fits(laneflow):
    called = laneflow("validate", "ring.yaml", "--bind", "ringapp:pipeline")
    assert (called.code, called.out) == (0, "ring.yaml: sound\n")


def test_an_executor_that_does_not_fit(laneflow):
    called = laneflow("validate", "ring.yaml", "--bind", "ringapp:incomplete")
    assert called.code == 1
    assert called.err.count("LF502") == 2


def test_the_file_is_bound_as_overridden(laneflow):
    called = laneflow("validate", "ring.yaml", "requires=[device_state]", "--bind", "ringapp:pipeline")
    assert called.code == 1
    assert "LF501" in called.err


def test_a_fallback_takes_the_place_of_what_the_executor_cannot_do(laneflow, write):
    write("fast.yaml", "requires: [device_state]\nfallback: ring\n" + files.SOUND)
    called = laneflow("validate", "fast.yaml", "--bind", "ringapp:pipeline")
    assert called.code == 0
    assert called.out.split("\n")[:2] == [
        "fast.yaml: sound; this executor runs `ring` instead",
        "ring.yaml: sound",
    ]


def test_the_fallback_must_be_sound_as_well(laneflow, write):
    write("fast.yaml", "requires: [device_state]\nfallback: race\n" + files.SOUND)
    write("race.yaml", files.RACE)
    called = laneflow("validate", "fast.yaml", "--bind", "ringapp:pipeline")
    assert called.code == 1
    assert "race.yaml:8:" in called.err
    assert called.out.split("\n")[1] == "race.yaml: 2 faults"


@pytest.mark.parametrize(
    "name", ["ringapp", "ringapp:", ":x", "nowhere:x", "ringapp:absent", "ringapp:nothing", "ringapp:failing"]
)
def test_an_executor_that_cannot_be_had_is_wrong_usage(laneflow, name):
    called = laneflow("validate", "ring.yaml", "--bind", name)
    assert (called.code, called.out) == (2, "")
    assert name in called.err
