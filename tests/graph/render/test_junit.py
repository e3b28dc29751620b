from xml.etree import ElementTree

from graph.render.junit import render
from tests.graph.render.samples import ALL, FAULTY, SOUND


def suite(outcomes):
    root = ElementTree.fromstring(render(outcomes).encode("utf-8"))
    assert root.tag == "testsuites"
    (found,) = root
    return found


def test_one_case_a_topology():
    assert [case.get("name") for case in suite(ALL)] == [outcome.file for outcome in ALL]


def test_a_sound_topology_passes():
    (case,) = suite([SOUND])
    assert list(case) == []


def test_faults_are_one_failure_and_the_rest_is_output():
    (case,) = suite([FAULTY])
    failure, output = case
    assert (failure.tag, failure.get("type"), failure.get("message")) == (
        "failure",
        "LF205",
        "1 found: LF205",
    )
    assert failure.text.startswith("topologies/ring.yaml:3:5: LF205 `reclaim`")
    assert output.tag == "system-out"
    assert "LF303" in output.text
    assert "LF601" in output.text


def test_an_internal_error_is_an_error():
    (error,) = suite(ALL)[3]
    assert error.tag == "error"
    assert "KeyError" in error.text


def test_counts_are_of_cases():
    counts = {name: suite(ALL).get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "4", "failures": "2", "errors": "1", "skipped": "0"}


def test_what_xml_cannot_hold_is_written_out():
    (failure,) = suite(ALL)[2]
    assert "\\x1b[31m<&>\"'\\x00\\xd800" in failure.text
