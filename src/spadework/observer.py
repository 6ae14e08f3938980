"""Who watches work that takes time: a terminal view, a page, a user's own code, or nobody."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Observer(Protocol):
    """Is told of a run's progress. Its methods are called in the event loop's thread and should return at once."""

    def stage(self, cycle: int, name: str, total: int) -> None:
        """A stage of ``total`` pieces begins."""
        ...

    def advance(self, tokens: int) -> None:
        """One piece is done; ``tokens`` were sampled for it."""
        ...

    def note(self, text: str) -> None:
        """A line that stays."""
        ...

    def cycle_done(self, cycle: int, metrics: Mapping[str, float]) -> None:
        """A cycle is committed."""
        ...
