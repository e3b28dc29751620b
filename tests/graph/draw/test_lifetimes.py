from graph.draw.lifetimes import lifetimes
from graph.reading import load
from tests.graph.headers import CASES


def of(topology, name):
    return [one for one in lifetimes(topology) if one.name == name]


def test_owners_run_from_the_acquirer_to_the_releaser():
    inputs, _ = of(load("pingpong"), "inputs")
    assert inputs.routes == ("decode",)
    assert [turn.node for turn in inputs.owners] == ["prepare", "bind", "dispatch", "reclaim", "release"]
    assert str(inputs.owners[1]) == "bind: reads, writes"
    assert inputs.returning == "prepare of step k+2 waits for release of step k"


def test_who_is_lent_a_slot_is_a_user_and_no_owner():
    (sampled,) = of(load(CASES / "engine_with_grammar.sound.yaml"), "sampled")
    assert [str(turn) for turn in sampled.users] == ["metrics: reads"]
    assert "metrics" not in [turn.node for turn in sampled.owners]


def test_routes_with_other_owners_have_lifetimes_of_their_own():
    batch = of(load(CASES / "prefill_decode_transfer.sound.yaml"), "batch")
    assert [(one.routes, one.owners[0].node) for one in batch] == [
        (("prefill",), "plan_prefill"),
        (("decode",), "plan_decode"),
    ]


def test_state_has_users_and_no_owner():
    (tails,) = of(load("latebind"), "tails")
    assert (tails.owners, tails.returning) == ((), "")
    assert {turn.node for turn in tails.users} == {"bind", "reclaim", "reclaim_prefill", "reclaim_mixed"}


def test_a_slot_of_the_step_before_is_told_as_such():
    drafts = of(load(CASES / "draft_outlives_skipped_step.sound.yaml"), "drafts")
    assert {str(one.owners[0]) for one in drafts} == {"verify: reads @1"}
