"""Stop strings in text that comes in pieces.

What is shown does not depend on where the pieces end, nothing of a stop string is ever shown, and time is linear in the
text's length.
"""

from collections.abc import Sequence


class StopStrings:
    """Ends one output at the first stop string to be complete.

    Where several are complete at the same character, the longest counts. So a stop string that has another one inside
    it, before its end, is never met: the other is complete first.

    Raises:
        ValueError: a stop string is empty.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        if "" in stops:
            raise ValueError(f"stop string {list(stops).index('')} is empty: give it some text, or remove it")
        self._matches = [_Match(stop) for stop in stops]
        self._held = ""
        self._met = False

    def push(self, text: str) -> tuple[str, bool]:
        """The text that can be shown now, and whether a stop string was met.

        Text that may be the beginning of a stop string is held back. Once one was met, no more text comes.
        """
        if self._met:
            return "", True
        text, seen = self._held + text, len(self._held)
        for position in range(seen, len(text)):
            ended = [len(match.stop) for match in self._matches if match.take(text[position])]
            if ended:
                self._met, self._held = True, ""
                return text[: position + 1 - max(ended)], True
        return self._hold(text), False

    def finish(self) -> str:
        """What was held back; it is no stop string, as nothing follows."""
        rest, self._held = self._held, ""
        return rest

    def _hold(self, text: str) -> str:
        shown = len(text) - max((match.length for match in self._matches), default=0)
        self._held = text[shown:]
        return text[:shown]


class _Match:
    """The longest beginning of one stop string with which the text so far ends.

    Knuth, Morris, Pratt: "Fast pattern matching in strings", SIAM J. Comput. 6(2), 1977.
    """

    def __init__(self, stop: str) -> None:
        self.stop = stop
        self.length = 0
        self._shorter = [0] * len(stop)  # after n + 1 characters, the next shorter beginning that also fits
        for index in range(1, len(stop)):
            self._shorter[index] = self._after(self._shorter[index - 1], stop[index])

    def take(self, character: str) -> bool:
        """Whether the stop string ends with this character."""
        self.length = self._after(self.length, character)
        return self.length == len(self.stop)

    def _after(self, length: int, character: str) -> int:
        while length and self.stop[length] != character:
            length = self._shorter[length - 1]
        return length + (self.stop[length] == character)
