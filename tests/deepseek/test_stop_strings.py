"""Text ends at the first stop string to be complete, wherever the pieces end."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepseek.stop_strings import StopStrings

TEXT = st.text("ab", max_size=40)
STOPS = st.lists(st.text("ab", min_size=1, max_size=5), max_size=4).map(tuple)


def shown(stops: tuple[str, ...], text: str) -> tuple[str, bool]:
    """By a search of the whole text: the beginning that is shown, and whether a stop string ends it."""
    found = [(text.index(stop) + len(stop), -len(stop)) for stop in stops if stop in text]
    if not found:
        return text, False
    end, length = min(found)
    return text[: end + length], True


def run(stops: tuple[str, ...], pieces: list[str]) -> tuple[str, bool]:
    strings = StopStrings(stops)
    results = [strings.push(piece) for piece in pieces]
    return "".join(text for text, _ in results) + strings.finish(), any(met for _, met in results)


@given(STOPS, TEXT, st.lists(st.integers(0, 40)))
def test_any_pieces_show_what_a_search_of_the_whole_text_finds(
    stops: tuple[str, ...], text: str, cuts: list[int]
) -> None:
    ends = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[start:end] for start, end in itertools.pairwise(ends)]
    assert run(stops, pieces) == shown(stops, text)


@given(STOPS, TEXT)
def test_held_back_is_the_longest_end_that_may_begin_a_stop_string(stops: tuple[str, ...], text: str) -> None:
    strings = StopStrings(stops)
    given_out = ""
    for position, character in enumerate(text):
        new, met = strings.push(character)
        given_out += new
        if met:
            break
        so_far = text[: position + 1]
        ends = [so_far[start:] for start in range(len(so_far))]
        held = next((end for end in ends if any(stop.startswith(end) for stop in stops)), "")
        assert given_out + held == so_far


def test_the_stop_string_and_what_follows_are_not_shown() -> None:
    assert StopStrings(("END",)).push("one END two") == ("one ", True)


def test_a_stop_string_over_several_pieces_is_met_with_the_last() -> None:
    strings = StopStrings(("END",))
    assert [strings.push(piece) for piece in ("a E", "N", "D b")] == [("a ", False), ("", False), ("", True)]


def test_a_beginning_that_comes_to_nothing_is_shown_late() -> None:
    strings = StopStrings(("END",))
    assert [strings.push(piece) for piece in ("EN", "ENx")] == [("", False), ("ENENx", False)]


def test_the_end_gives_what_was_held_back_once() -> None:
    strings = StopStrings(("END",))
    assert strings.push("a EN") == ("a ", False)
    assert [strings.finish(), strings.finish()] == ["EN", ""]


def test_after_a_stop_string_no_more_text_comes() -> None:
    strings = StopStrings(("END",))
    strings.push("END")
    assert strings.push("more") == ("", True)
    assert strings.finish() == ""


def test_of_stop_strings_complete_at_once_the_longest_counts() -> None:
    assert StopStrings(("c", "bc", "abc", "xc")).push("-abc") == ("-", True)


def test_a_stop_string_inside_another_ends_the_text_first() -> None:
    assert StopStrings(("abcd", "bc")).push("abcd") == ("a", True)


def test_without_stop_strings_all_text_passes_at_once() -> None:
    strings = StopStrings(())
    assert strings.push("anything") == ("anything", False)
    assert strings.finish() == ""


def test_an_empty_stop_string_is_refused_by_its_place() -> None:
    with pytest.raises(ValueError, match="stop string 1 is empty"):
        StopStrings(("a", ""))


class Counted(str):
    """Text that counts how often one of its characters is read."""

    read = 0

    def __getitem__(self, key: object) -> str:
        Counted.read += isinstance(key, int)
        return super().__getitem__(key)  # type: ignore[index]


def test_text_that_almost_stops_again_and_again_is_read_once() -> None:
    Counted.read = 0
    assert StopStrings(("a" * 50 + "b",)).push(Counted("a" * 10_000)) == ("a" * 9950, False)
    assert Counted.read < 3 * 10_000
