"""Text of an output: what is safe to show, and stop strings."""

from deepseek.engine import Event, Request
from deepseek.sizes import Sizes
from deepseek.tokenizer import ByteTokenizer
from tests.deepseek.scripted import Scripted, expected, told

TOKENIZER = ByteTokenizer()
SIZES = Sizes(128, 120, batch=2, capacity=2, rows=3, packed=2, chunk=8, page=4)
LONG = Request((5, 6, 7), 60)


def whole() -> tuple[list[int], str]:
    tokens = expected(LONG, SIZES.vocab_size)
    return tokens, TOKENIZER.decode(tokens)


def run(*requests: Request, sizes: Sizes = SIZES) -> list[Event]:
    with Scripted(sizes).engine(TOKENIZER) as engine:
        return list(engine.generate(requests))


def test_texts_of_the_events_together_are_the_text_of_the_tokens() -> None:
    tokens, text = whole()
    found = told(run(LONG))["0"]
    assert (found.tokens, found.text) == (tokens, text)


def test_a_stop_string_ends_a_request_and_is_not_shown() -> None:
    tokens, text = whole()
    for at in range(20, 26):
        stop = text[at : at + 3]
        first = text.index(stop)
        found = told(run(Request(LONG.prompt, 60, stop=("never", stop))))["0"]
        assert (found.text, found.finish) == (text[:first], "stop")
        assert TOKENIZER.decode(found.tokens) == text[: first + 3]
        assert found.tokens == tokens[: len(found.tokens)]


def test_what_might_have_become_a_stop_string_is_shown_at_the_end() -> None:
    _, text = whole()
    found = told(run(Request(LONG.prompt, 60, stop=(text[-2:] + "\0",))))["0"]
    assert (found.text, found.finish) == (text, "length")


def test_an_aborted_request_shows_what_was_held_back() -> None:
    _, text = whole()
    with Scripted(SIZES).engine(TOKENIZER) as engine:
        engine.add(Request(LONG.prompt, 60, stop=(text[:4] + "\0",)), "a")
        events = []
        for event in engine.events():
            events.append(event)
            if len(events) == 2:
                engine.abort("a")
    found = told(events)["a"]
    assert found.finish == "abort"
    assert found.text == TOKENIZER.decode(found.tokens)
    assert events[0].text == ""


def test_text_goes_on_over_a_preemption() -> None:
    sizes = Sizes(128, 80, batch=3, capacity=3, rows=3, packed=3, chunk=16, page=2, pages=40)
    requests = [Request((5, 6, 7 + number), 60) for number in range(3)]
    with Scripted(sizes).engine(TOKENIZER) as engine:
        found = told(engine.generate(requests))
        assert engine.stats.preemptions > 0
    for number, request in enumerate(requests):
        tokens = expected(request, 128)
        assert found[str(number)].tokens == tokens
        assert found[str(number)].text == TOKENIZER.decode(tokens)


def test_without_a_tokenizer_there_is_no_text() -> None:
    with Scripted(SIZES).engine() as engine:
        assert {event.text for event in engine.generate([LONG])} == {None}
