"""Messages for steps are kept as long as somebody may ask for them."""

from __future__ import annotations

from graph.lanes.mailbox import Mailbox

KEY = ("a", "Word")


def test_the_first_message_of_a_key_stays() -> None:
    box = Mailbox(lambda: False)
    box.put(3, KEY, b"first")
    box.put(3, KEY, b"second")
    assert box.wait(3, KEY) == b"first"


def test_every_turn_up_to_the_last_that_is_past_is_forgotten() -> None:
    """Only the turn itself used to be: with a bubble for each step, half of the messages stayed for ever."""
    box = Mailbox(lambda: False)
    for turn in range(10):
        box.put(turn, KEY, b"x")
    box.forget(3)
    box.forget(7)
    assert sorted(box._kept) == [8, 9]
    box.forget(5)
    assert sorted(box._kept) == [8, 9]


def test_what_comes_for_a_step_that_is_past_is_not_kept() -> None:
    box = Mailbox(lambda: False)
    box.forget(4)
    box.put(4, KEY, b"late")
    box.put(5, KEY, b"in time")
    assert sorted(box._kept) == [5]


def test_whoever_waits_is_let_go_when_the_run_is_halted() -> None:
    assert Mailbox(lambda: True).wait(0, KEY) is None
