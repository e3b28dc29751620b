"""What the engine takes and tells: requests, events, and which requests can be run at all."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Literal, NamedTuple

from deepseek.sizes import Sizes
from deepseek.steps import GREEDY, Sampling
from graph.errors import StepError

Finish = Literal["stop", "length", "abort", "error"]


@dataclass(frozen=True)
class Request:
    """A prompt of token ids to continue by at most `max_tokens`.

    Ends before that at any of `stop_ids`, which is still told, or at any of the strings `stop`, which are not shown.
    """

    prompt: tuple[int, ...]
    max_tokens: int
    sampling: Sampling = GREEDY
    stop_ids: frozenset[int] = frozenset()
    stop: tuple[str, ...] = ()


class Event(NamedTuple):
    """Something that happened to the request of this id: a token, an end, or both."""

    request: str
    token: int | None
    text: str | None = None
    """What can be shown now; it may lag behind the tokens. None without a tokenizer."""
    finish: Finish | None = None
    """Set in a request's last event and in no other."""
    error: StepError | None = None
    """Why it ended, with `finish` "error"; the cause is `RequestError` where the request itself cannot be run."""


class RequestError(ValueError):
    """A request cannot be run as it is; says why and what to change."""


def check(request: Request, sizes: Sizes, *, has_tokenizer: bool) -> None:
    """Raise `RequestError` for a request that a run of these sizes can never bring to its end."""
    _check_types(request)
    _check_prompt(request.prompt, sizes.vocab_size)
    _check_length(request, sizes)
    _check_sampling(request.sampling)
    if "" in request.stop:
        raise RequestError(f"stop string {request.stop.index('')} is empty: give it some text, or remove it")
    if request.stop and not has_tokenizer:
        raise RequestError("stop strings need a tokenizer, and this engine has none: give stop_ids")


def _check_types(request: Request) -> None:
    """What callers get wrong, as nothing checks a dataclass's fields."""
    if not isinstance(request, Request):
        raise RequestError(f"{request!r} is no Request")
    if not isinstance(request.prompt, Sequence) or isinstance(request.prompt, str):
        raise RequestError(f"the prompt is {request.prompt!r}: give a tuple of token ids")
    if not isinstance(request.sampling, Sampling):
        raise RequestError(f"sampling is {request.sampling!r}: give a Sampling")
    if not isinstance(request.stop, tuple) or not all(isinstance(text, str) for text in request.stop):
        raise RequestError(f"stop is {request.stop!r}: give a tuple of strings")
    if not isinstance(request.stop_ids, Set) or not all(type(token) is int for token in request.stop_ids):
        raise RequestError(f"stop_ids is {request.stop_ids!r}: give a frozenset of token ids")


def _check_prompt(prompt: tuple[int, ...], vocab_size: int) -> None:
    if not prompt:
        raise RequestError("the prompt is empty: give at least one token")
    for place, token in enumerate(prompt):
        if type(token) is not int or not 0 <= token < vocab_size:
            raise RequestError(
                f"token {token!r} at place {place} of the prompt is not one of the vocabulary's: "
                f"give ids from 0 to {vocab_size - 1}"
            )


def _check_length(request: Request, sizes: Sizes) -> None:
    if type(request.max_tokens) is not int or request.max_tokens < 1:
        raise RequestError(f"{request.max_tokens!r} tokens are asked for: ask for at least one")
    longest = len(request.prompt) + request.max_tokens
    asked = f"a prompt of {len(request.prompt)} tokens and {request.max_tokens} new ones"
    if longest > sizes.context:
        raise RequestError(
            f"{asked} do not fit the context of {sizes.context}: shorten one of them, or raise the context"
        )
    if longest > sizes.pages * sizes.page:
        raise RequestError(
            f"{asked} do not fit {sizes.pages} pages of {sizes.page} positions: "
            f"shorten one of them, or give {math.ceil(longest / sizes.page)} pages"
        )


def _check_sampling(sampling: Sampling) -> None:
    for name in ("temperature", "top_p"):
        if type(getattr(sampling, name)) not in (int, float):
            raise RequestError(f"{name} is {getattr(sampling, name)!r}: give a number")
    if not 0 <= sampling.temperature < math.inf:
        raise RequestError(f"temperature {sampling.temperature}: it is 0 (greedy) or more")
    if not 0 < sampling.top_p <= 1:
        raise RequestError(f"top_p {sampling.top_p}: it is above 0 and at most 1")
    if type(sampling.seed) is not int or not -(1 << 63) <= sampling.seed < 1 << 63:
        raise RequestError(f"seed {sampling.seed!r}: it is a whole number of 64 bits, -2^63 to 2^63 - 1")
