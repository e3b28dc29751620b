"""The schema that editors get: what is printed, what is committed, and what it says of files."""

from pathlib import Path

import pytest
from jsonschema import Draft7Validator

import topologies as shipped_package
from graph import yaml_tree
from graph.diagnostics import TopologyError
from graph.files import shipped
from graph.reading import load
from graph.schema import file_schema
from tests.graph.cli import topologies as files

CASES = sorted((Path(__file__).parents[2] / "cases").glob("*.yaml"))
FOLDER = Path(shipped_package.__file__).parent
SCHEMA = Draft7Validator(file_schema())


def loads(path):
    try:
        load(path)
    except TopologyError:
        return False
    return True


def data(text):
    return yaml_tree.plain(yaml_tree.parse(text, "ring.yaml"))


def test_the_committed_schema_is_what_the_command_prints(laneflow):
    called = laneflow("schema")
    assert called.code == 0
    assert (FOLDER / "schema.json").read_text("utf-8") == called.out, (
        "laneflow schema > topologies/schema.json"
    )


def test_it_is_a_schema():
    Draft7Validator.check_schema(file_schema())


@pytest.mark.parametrize(
    "path", list(filter(loads, [*CASES, *shipped().values()])), ids=lambda path: path.stem
)
def test_files_that_can_be_read_meet_it(path):
    SCHEMA.validate(data(path.read_text("utf-8")))


@pytest.mark.parametrize("path", shipped().values(), ids=lambda path: path.stem)
def test_shipped_files_tell_the_editor_where_it_is(path):
    first = path.read_text("utf-8").split("\n")[0]
    assert first == "# yaml-language-server: $schema=./schema.json"


@pytest.mark.parametrize(
    "text",
    [
        "lanes: {host: {worker: process}}",
        "edges: {a@1 -> b: null}",
        "buffers: {inputs: {slots: 3}, outputs: null}",
        "nodes: {bind: {reads: [inputs.tokens@1]}}",
        "in_flight: null",
    ],
)
def test_a_variant_may_say_only_what_it_changes(text):
    SCHEMA.validate(data(f"extends: decode\n{text}\n"))


@pytest.mark.parametrize(
    "text",
    [
        files.MISSPELT,
        files.SOUND.replace("kind: dispatch", "kind: despatch"),
        files.SOUND.replace("kind: dispatch, ", ""),
        files.SOUND.replace("prepare -> dispatch", "prepare => dispatch"),
        files.SOUND.replace("slots: 2", "slots: 0"),
        files.SOUND.replace("slots: 2", "slots: two"),
        files.SOUND.replace("int64[8]", "int64"),
        files.SOUND.replace("[prepare]", "prepare"),
        files.SOUND.replace("[prepare]", "[prepare@x]"),
        files.SOUND.partition("lanes:")[0],
        "lane: {host: [prepare]}\n" + files.SOUND,
    ],
)
def test_it_notices_what_reading_would_refuse(text):
    SCHEMA.validate(data(files.SOUND))
    assert not SCHEMA.is_valid(data(text))
