"""The sizes of a run's steps and state, and what fits into them: checked before anything reaches the device."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from deepseek.steps import Chunk, Place, Row

MOST = 1 << 30
"""Of any size."""


@dataclass(frozen=True)
class Sizes:
    """Sizes of one run. All but `vocab_size` and `context` are dims of the decode topologies, with `blocks`."""

    vocab_size: int
    context: int
    """Most tokens of one request."""
    batch: int
    """Requests in a decode step."""
    capacity: int
    """Request rows."""
    rows: int = 1
    """Tokens of one request in a decode step: its tail and its drafts."""
    packed: int = 1
    """Prompts in a prefill step."""
    chunk: int = 64
    """Tokens of each."""
    page: int = 64
    """Positions that a page of compressed keys stands for."""
    pages: int = 0
    """Pages in all; 0 becomes as many as all rows may need."""

    def __post_init__(self) -> None:
        for name in ("batch", "capacity", "rows", "packed", "chunk", "page", "context"):
            if not 1 <= getattr(self, name) <= MOST:
                raise ValueError(f"{name}={getattr(self, name)}: it is at least 1 and at most {MOST}")
        if not 0 <= self.pages <= MOST:
            raise ValueError(f"pages={self.pages}: it is 0, as many as all rows may need, to {MOST}")
        if self.pages == 0:
            object.__setattr__(self, "pages", self.capacity * self.blocks)

    @property
    def blocks(self) -> int:
        """Most pages of one request."""
        return math.ceil(self.context / self.page)

    @property
    def dims(self) -> dict[str, int]:
        """As the decode topologies name them."""
        names = ("batch", "capacity", "rows", "packed", "chunk", "page", "pages", "blocks")
        return {name: getattr(self, name) for name in names}

    def check_places(self, places: Sequence[Place]) -> None:
        """Raise `ValueError` where the places do not make a decode step."""
        if not 0 < len(places) <= self.batch:
            raise ValueError(f"{len(places)} requests in a batch of {self.batch}: give 1 to {self.batch}")
        self._check_rows(place.row for place in places)
        for place in places:
            self._check_pages(place.row, place.pages)

    def check_chunks(self, chunks: Sequence[Chunk]) -> None:
        """Raise `ValueError` where the chunks do not make a prefill step."""
        if not 0 < len(chunks) <= self.packed:
            raise ValueError(
                f"{len(chunks)} prompts in a step that packs {self.packed}: give 1 to {self.packed}"
            )
        self._check_rows(chunk.row for chunk in chunks)
        for chunk in chunks:
            self._check_chunk(chunk)

    def check_rows(self, rows: Sequence[Row]) -> None:
        """Raise `ValueError` where the rows do not make a retire step."""
        if not 0 < len(rows) <= self.batch:
            raise ValueError(f"{len(rows)} requests to retire in a step: give 1 to {self.batch}")
        self._check_rows(rows)

    def _check_chunk(self, chunk: Chunk) -> None:
        count, end = len(chunk.tokens), chunk.position + len(chunk.tokens)
        if not 0 < count <= self.chunk:
            raise ValueError(f"a chunk of {count} tokens: it has 1 to {self.chunk}")
        if chunk.position < 0 or end > self.context:
            raise ValueError(f"a chunk at {chunk.position} to {end} in a context of {self.context}")
        for token in (*chunk.tokens, 0 if chunk.following is None else chunk.following):
            if not 0 <= token < self.vocab_size:
                raise ValueError(f"token {token} is not one of the {self.vocab_size} of the vocabulary")
        self._check_pages(chunk.row, chunk.pages)
        if len(chunk.pages) * self.page < end:
            raise ValueError(
                f"{len(chunk.pages)} pages of {self.page} positions for a chunk that ends at {end}"
            )

    def _check_rows(self, rows: Iterable[Row]) -> None:
        seen = set()
        for row, generation in rows:
            if not 0 <= row < self.capacity:
                raise ValueError(
                    f"row {row} is not one of the {self.capacity} rows (0 to {self.capacity - 1})"
                )
            if generation < 1:
                raise ValueError(f"generation {generation} of row {row}: generations are from 1")
            if row in seen:
                raise ValueError(f"row {row} is twice in one step")
            seen.add(row)

    def _check_pages(self, row: Row, pages: Sequence[int]) -> None:
        if len(pages) > self.blocks:
            raise ValueError(f"{len(pages)} pages for row {row.row}: a request has at most {self.blocks}")
        for page in pages:
            if not 0 <= page < self.pages:
                raise ValueError(f"page {page} of row {row.row} is not one of the {self.pages} pages")
