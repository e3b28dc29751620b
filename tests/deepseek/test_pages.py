"""Pages: each is one request's at a time, and none is lost."""

import random

import pytest

from deepseek.pages import Pages
from deepseek.paging import Paging
from deepseek.requests import Request
from deepseek.steps import Row
from deepseek.tenancy import Entry, Tenancy
from graph import InternalError


def test_pages_are_handed_out_once_and_all_or_none() -> None:
    pages = Pages(5)
    first, second = pages.take(2), pages.take(3)
    assert first is not None
    assert second is not None
    assert sorted(first + second) == [0, 1, 2, 3, 4]
    pages.give_back(first)
    assert pages.take(3) is None
    assert pages.free == 2
    assert pages.taken == tuple(sorted(second))


def test_the_most_ever_in_use_is_remembered() -> None:
    pages = Pages(5)
    for count in (2, 4, 1):
        taken = pages.take(count)
        assert taken is not None
        pages.give_back(taken)
    assert pages.most == 4


def test_pages_that_rested_longest_are_handed_out_first() -> None:
    pages = Pages(3)
    taken = pages.take(2)
    assert taken == [0, 1]
    pages.give_back([1, 0])
    assert pages.take(3) == [2, 1, 0]


@pytest.mark.parametrize("given", [[0], [3], [1, 1]])
def test_a_page_that_nobody_has_cannot_be_given_back(given: list[int]) -> None:
    pages = Pages(4)
    assert pages.take(2) == [0, 1]
    pages.give_back([0])
    with pytest.raises(InternalError, match="given back"):
        pages.give_back(given)
    assert pages.free == 3


def test_withdrawn_pages_are_never_handed_out_again() -> None:
    pages = Pages(3)
    taken = pages.take(2)
    assert taken is not None
    pages.withdraw(taken)
    assert pages.count == pages.free == 1
    assert pages.take(1) == [2]
    assert pages.take(1) is None


@pytest.mark.parametrize("seed", range(5))
def test_whatever_comes_and_goes_no_page_has_two_owners(seed: int) -> None:
    print(f"seed {seed}")
    source = random.Random(seed)
    pages = Pages(source.randint(1, 40))
    held: list[list[int]] = []
    for _ in range(2000):
        if held and source.random() < 0.5:
            pages.give_back(held.pop(source.randrange(len(held))))
        else:
            free, count = pages.free, source.randint(0, 8)
            taken = pages.take(count)
            assert (taken is None) == (count > free)
            held += [taken] if taken is not None else []
        everyone = [page for taken in held for page in taken]
        assert sorted(everyone) == list(pages.taken)
        assert pages.free + len(everyone) == pages.count


def stay(paging: Paging, number: int, prompt: int, positions: int) -> Tenancy:
    """A request whose prompt is confirmed, with the pages for so many positions."""
    entry = Entry(str(number), number, Request((1,) * prompt, 20), tokens=[7])
    pages = paging._pages.take(paging.blocks(positions))
    assert pages is not None
    return Tenancy(entry, Row(number, 1), entry.request.prompt, pages, prefilled=prompt, confirmed=True)


def test_a_younger_request_gets_no_page_while_an_older_one_is_short() -> None:
    paging = Paging(9, page=1, rows=2)
    old, young = stay(paging, 0, 4, 4), stay(paging, 1, 3, 4)
    young.tables.append(4)
    both = [old, young]
    assert paging._pages.free == 1
    assert not paging.grow(old, both)
    assert not paging.grow(young, both)  # which needs one page, and one is free
    assert paging.short is old
    paging._pages.give_back([young.pages.pop()])
    assert paging.grow(old, both)
    assert paging.short is None


def test_what_others_do_not_need_is_taken_only_behind_their_steps_in_flight() -> None:
    paging = Paging(12, page=1, rows=2)
    old, rich = stay(paging, 0, 4, 4), stay(paging, 1, 3, 8)
    rich.tables.extend([8, 6])
    assert not paging.grow(old, [old, rich])
    rich.tables.popleft()
    assert paging.grow(old, [old, rich])
    assert len(rich.pages) == 6
    assert set(rich.pages).isdisjoint(old.pages)
