import json
from xml.etree import ElementTree

import pytest

from tests.graph.cli import topologies as files


def codes(document):
    return [diagnostic["code"] for diagnostic in json.loads(document)]


def test_a_sound_file(laneflow, write):
    write("ring.yaml", files.SOUND)
    called = laneflow("validate", "ring.yaml")
    assert (called.code, called.out, called.err) == (0, "ring.yaml: sound\n", "")


def test_a_fault_goes_to_stderr_and_the_verdict_to_stdout(laneflow, write):
    write("ring.yaml", files.RACE)
    called = laneflow("validate", "ring.yaml")
    assert called.code == 1
    assert called.out == "ring.yaml: 1 fault\n"
    first, source, caret, *rest = called.err.rstrip().split("\n")
    assert first.startswith("ring.yaml:8:")
    assert ": LF205 `reclaim`" in first
    assert source.startswith("    8 |   reclaim: {kind: reclaim, reads: [inputs]")
    assert caret.strip() == "^"
    assert {"host", "device", "output"} <= {row.split()[0] for row in rest}
    assert rest[-1].startswith("  help: ")


@pytest.mark.parametrize(
    "text", [files.NOT_YAML, files.MISSPELT, "", "just words\n", "replicas: 3\n", "- a\n- b\n"]
)
def test_a_file_that_is_no_topology_is_a_fault_in_a_file(laneflow, write, text):
    write("ring.yaml", text)
    called = laneflow("validate", "ring.yaml")
    assert called.code == 1
    assert called.err.startswith("ring.yaml:")
    assert "LF00" in called.err


def test_a_warning_fails_only_under_strict(laneflow, write):
    write("ring.yaml", files.IDLE_LIMIT)
    plain, strict = laneflow("validate", "ring.yaml"), laneflow("validate", "ring.yaml", "--strict")
    assert (plain.code, plain.out) == (0, "ring.yaml: sound, 1 warning\n")
    assert (strict.code, strict.out) == (1, "ring.yaml: 1 warning\n")
    assert "LF303 warning:" in plain.err


def test_advice_never_fails(laneflow, write):
    write("ring.yaml", files.PAGEABLE)
    called = laneflow("validate", "ring.yaml", "--strict")
    assert (called.code, called.out) == (0, "ring.yaml: sound, 1 hint\n")
    assert "LF602 advice:" in called.err


def test_an_abstract_file_is_reported_as_abstract(laneflow, write):
    write("base.yaml", files.BASE)
    assert laneflow("validate", "base.yaml").out == "base.yaml: abstract, sound as far as it goes\n"


def test_a_shipped_name(laneflow):
    called = laneflow("validate", "pingpong", "--strict")
    assert called.code == 0
    assert called.out.endswith("pingpong.yaml: sound\n")


def test_a_folder_is_searched_for_topologies_and_hidden_files_are_left_alone(laneflow, write):
    for name in ("t/b.yaml", "t/a.yml", "t/deep/c.yaml", "t/.github/x.yaml", "t/.hidden.yaml", "t/notes.md"):
        write(name, files.SOUND)
    called = laneflow("validate", "t")
    assert called.out.split("\n")[:-1] == [
        "t/a.yml: sound",
        "t/b.yaml: sound",
        "t/deep/c.yaml: sound",
        "3 topologies, none faulty",
    ]


def test_other_yaml_in_a_folder_is_named_not_skipped(laneflow, write):
    write("t/ring.yaml", files.SOUND)
    write("t/compose.yaml", "services: {}\n")
    called = laneflow("validate", "t")
    assert called.code == 1
    assert called.err.startswith("t/compose.yaml:1:1: LF002")
    assert called.out.endswith("2 topologies, 1 faulty\n")


def test_a_glob(laneflow, write):
    for name in ("t/a.yaml", "t/b.yaml", "u/c.yaml"):
        write(name, files.SOUND)
    assert laneflow("validate", "t/*.yaml").out.count(": sound\n") == 2
    assert laneflow("validate", "**/*.yaml").out.count(": sound\n") == 3


def test_a_file_that_is_named_twice_is_checked_once(laneflow, write):
    write("ring.yaml", files.SOUND)
    assert laneflow("validate", "ring.yaml", "./ring.yaml", "*.yaml").out == "ring.yaml: sound\n"


def test_standard_input(laneflow):
    called = laneflow("validate", "-", stdin=files.RACE.encode())
    assert (called.code, called.out) == (1, "<stdin>: 1 fault\n")
    assert "    8 |   reclaim:" in called.err


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"#" * (1 << 20) + b"##"])
def test_standard_input_has_the_limits_of_a_file(laneflow, data):
    called = laneflow("validate", "-", stdin=data)
    assert called.code == 1
    assert called.err.startswith("<stdin>:1:1: LF001")


def test_an_override_is_applied_to_every_target(laneflow, write):
    write("a.yaml", files.SOUND)
    write("b.yaml", files.SOUND)
    called = laneflow("validate", "a.yaml", "lanes.host=[]", "b.yaml")
    assert called.code == 1
    assert called.out.split("\n")[:2] == ["a.yaml: 1 fault", "b.yaml: 1 fault"]
    assert called.err.count("LF101") == 2


def test_an_override_can_mend(laneflow, write):
    write("ring.yaml", files.RACE)
    assert laneflow("validate", "ring.yaml", "edges.reclaim -> release={}").code == 0


def test_an_override_that_makes_no_sense_is_named(laneflow, write):
    write("ring.yaml", files.SOUND)
    called = laneflow("validate", "ring.yaml", "buffers.inputs.slot=3")
    assert called.code == 1
    assert "override `buffers.inputs.slot=3`" in called.err


@pytest.mark.parametrize("target", ["nope", "nope.yaml", "no/such", "no/*.yaml", "empty"])
def test_a_target_that_is_nothing_is_wrong_usage(laneflow, tmp_path, target):
    (tmp_path / "empty").mkdir()
    called = laneflow("validate", target)
    assert (called.code, called.out) == (2, "")
    assert f"`{target}`" in called.err


def test_every_missing_target_is_named_at_once(laneflow):
    called = laneflow("validate", "one.yaml", "two.yaml")
    assert "one.yaml" in called.err
    assert "two.yaml" in called.err


@pytest.mark.parametrize(
    "words", [[], ["a=1"], ["x.yaml", "--format", "pdf"], ["x.yaml", "--fix", "--diff"], ["--nope", "x.yaml"]]
)
def test_wrong_usage(laneflow, write, words):
    write("x.yaml", files.SOUND)
    assert laneflow("validate", *words).code == 2


def test_select_and_ignore_take_prefixes(laneflow, write):
    write("ring.yaml", files.TWO_FAULTS)

    def reported(*words):
        called = laneflow("validate", "ring.yaml", "--format", "json", *words)
        return called.code, sorted(codes(called.out))

    assert reported() == (1, ["LF104", "LF205"])
    assert reported("--select", "LF1,LF401") == (1, ["LF104"])
    assert reported("--select", "LF1", "--select", "lf2") == (1, ["LF104", "LF205"])
    assert reported("--ignore", "lf2") == (1, ["LF104"])
    assert reported("--select", "LF2", "--ignore", "LF205") == (0, [])


def test_a_verdict_on_chosen_codes_says_so(laneflow, write):
    write("ring.yaml", files.RACE)
    called = laneflow("validate", "ring.yaml", "--ignore", "LF205")
    assert (called.code, called.out) == (0, "ring.yaml: sound by the chosen codes\n")


def test_what_leaves_the_rest_undecided_is_always_reported(laneflow, write):
    write("ring.yaml", files.MISSPELT)
    called = laneflow("validate", "ring.yaml", "--format", "json", "--select", "LF2")
    assert (called.code, codes(called.out)) == (1, ["LF002"])


@pytest.mark.parametrize(
    "words", [["--select", "LF9"], ["--ignore", "205"], ["--ignore", "LF002"], ["--select", ""]]
)
def test_a_code_that_cannot_be_chosen_is_wrong_usage(laneflow, write, words):
    write("ring.yaml", files.SOUND)
    assert laneflow("validate", "ring.yaml", *words).code == 2


def test_machine_formats_are_one_document_on_stdout(laneflow, write):
    write("a.yaml", files.RACE)
    write("b.yaml", files.NOT_YAML)
    documents = {}
    for form in ("json", "sarif", "github", "junit"):
        called = laneflow("validate", "a.yaml", "b.yaml", "--format", form)
        assert (called.code, called.err) == (1, "")
        documents[form] = called.out
    assert codes(documents["json"]) == ["LF205", "LF001"]
    results = json.loads(documents["sarif"])["runs"][0]["results"]
    assert [result["ruleId"] for result in results] == ["LF205", "LF001"]
    assert [line[: line.index(",")] for line in documents["github"].split("\n")[:-1]] == [
        "::error file=a.yaml",
        "::error file=b.yaml",
    ]
    assert ElementTree.fromstring(documents["junit"].encode()).get("failures") == "2"


def test_machine_formats_of_a_sound_file(laneflow, write):
    write("ring.yaml", files.SOUND)
    assert laneflow("validate", "ring.yaml", "--format", "json").out == "[]\n"
    assert laneflow("validate", "ring.yaml", "--format", "github").out == ""


def test_the_counterexample_is_data(laneflow, write):
    write("ring.yaml", files.RACE)
    (fault,) = json.loads(laneflow("validate", "ring.yaml", "--format", "json").out)
    assert fault["nodes"][0] == "reclaim"
    assert fault["buffer"] == "inputs"
    (reading,) = [
        firing for firing in fault["schedule"] if firing["node"] == "reclaim" and firing["step"] == 0
    ]
    (taking,) = [
        firing for firing in fault["schedule"] if firing["node"] == "prepare" and firing["step"] == 2
    ]
    assert taking["start"] < reading["end"]


def test_files_are_named_as_seen_from_here(laneflow, write, tmp_path):
    path = write("t/ring.yaml", files.MISSPELT)
    (fault,) = json.loads(laneflow("validate", path, "--format", "json").out)
    assert fault["file"] == "t/ring.yaml"


def test_a_fault_points_into_the_file_that_is_extended(laneflow, write):
    write("base.yaml", files.BASE.replace("[inputs]", "[input]", 1))
    write("ring.yaml", "extends: base\nlanes: {host: [prepare], device: [dispatch, release]}\n")
    called = laneflow("validate", "ring.yaml", "--format", "json")
    found = json.loads(called.out)
    assert {fault["code"] for fault in found} == {"LF003"}
    assert {fault["file"] for fault in found} == {"base.yaml"}


def test_a_fault_of_ours_is_told_without_a_traceback(laneflow, write, monkeypatch):
    import graph.cli.checking

    def diagnose(topology):
        raise KeyError(topology.topology)

    monkeypatch.setattr(graph.cli.checking, "diagnose", diagnose)
    write("ring.yaml", files.SOUND)
    write("two.yaml", files.NOT_YAML)
    called = laneflow("validate", "ring.yaml", "two.yaml")
    assert called.code == 1
    assert "ring.yaml: internal error at checking.py:" in called.err
    assert "KeyError: 'ring'" in called.err
    assert "please report it" in called.err
    assert "Traceback" not in called.err
    assert called.out.startswith("ring.yaml: undecided\ntwo.yaml: 1 fault\n")


def test_the_verdict_stands_where_no_mend_can_be_found_for_a_fault_of_ours(laneflow, write, monkeypatch):
    import graph.cli.checking

    def explained(topology, found):
        raise IndexError("no lane")

    monkeypatch.setattr(graph.cli.checking, "explained", explained)
    write("ring.yaml", files.RACE)
    called = laneflow("validate", "ring.yaml")
    assert called.code == 1
    assert "LF205" in called.err
    assert "IndexError: no lane" in called.err
    assert called.out == "ring.yaml: 1 fault, and an internal error\n"
