import json
from pathlib import Path
from urllib.parse import unquote

import pytest
from jsonschema import Draft4Validator

from graph.render.sarif import render
from graph.rules.catalogue import catalogue
from tests.graph.render.samples import ALL, CRASHED, FAULTY, SOUND, UNREADABLE

SCHEMA = json.loads(Path(__file__).with_name("sarif-2.1.0-rtm.5.json").read_text("utf-8"))


def run(*outcomes):
    (found,) = json.loads(render(outcomes))["runs"]
    return found


@pytest.mark.parametrize("outcomes", [(), (SOUND,), (FAULTY,), (UNREADABLE,), (CRASHED,), ALL])
def test_every_document_meets_the_public_schema(outcomes):
    Draft4Validator(SCHEMA).validate(json.loads(render(outcomes)))


def test_the_schema_would_notice():
    document = json.loads(render([FAULTY]))
    document["runs"][0]["results"][0]["level"] = "fatal"
    assert not Draft4Validator(SCHEMA).is_valid(document)


def test_every_rule_is_described():
    rules = run(SOUND)["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(catalogue())
    assert all(rule["fullDescription"]["text"] for rule in rules)


def test_a_result_points_at_its_rule_and_place():
    result = run(FAULTY)["results"][0]
    assert result["level"] == "error"
    assert run(FAULTY)["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "LF205"
    (location,) = result["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "topologies/ring.yaml", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 3, "startColumn": 5},
    }


def test_severities_become_levels():
    assert [result["level"] for result in run(FAULTY)["results"]] == ["error", "warning", "note"]


def test_a_schedule_is_a_code_flow_with_one_thread_a_lane():
    (flow,) = run(FAULTY)["results"][0]["codeFlows"]
    threads = {thread["id"]: thread["locations"] for thread in flow["threadFlows"]}
    assert list(threads) == ["device", "host", "output"]
    steps = sorted(
        (place for places in threads.values() for place in places), key=lambda p: p["executionOrder"]
    )
    assert [place["location"]["message"]["text"] for place in steps] == [
        "prepare of step 0, from 0 to 1",
        "dispatch of step 0, from 1 to 2",
        "release of step 0, from 2 to 3",
        "reclaim of step 0, from 2 to 5",
        "prepare of step 2, from 3 to 4",
    ]


def test_a_strange_file_name_is_a_valid_uri():
    uri = run(UNREADABLE)["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.isascii()
    assert " " not in uri
    assert unquote(uri) == UNREADABLE.file


def test_an_internal_error_fails_the_invocation():
    assert run(SOUND)["invocations"][0]["executionSuccessful"] is True
    (invocation,) = run(CRASHED)["invocations"]
    assert invocation["executionSuccessful"] is False
    assert "KeyError" in invocation["toolExecutionNotifications"][0]["message"]["text"]
