"""YAML 1.2 has two booleans; a word that older dialects read as one is text, and no boolean."""

import pytest

from graph.diagnostics import TopologyError
from graph.reading import load_text


@pytest.mark.parametrize("word", ["yes", "on", "1", "'true'"])
@pytest.mark.parametrize(
    "text",
    [
        "buffers: {{s: {{type: T, persistent: {word}}}}}\nnodes: {{}}\nlanes: {{}}",
        "abstract: {word}\nnodes: {{}}\nlanes: {{}}",
    ],
)
def test_only_true_and_false_are_booleans(text: str, word: str) -> None:
    with pytest.raises(TopologyError) as caught:
        load_text(text.format(word=word))
    assert [one.code for one in caught.value.diagnostics] == ["LF002"]
