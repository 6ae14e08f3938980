"""Who is told of progress: a terminal, a test, or code of a user's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from spadework.types import Fault


class Observer(Protocol):
    """Watches a run or an evaluation. Its methods are called from the event loop, so they must return soon.

    Derive from ``NullObserver`` to override only what you want to see.
    """

    def stage(self, cycle: int | None, name: str, total: int, done: int = 0) -> None:
        """A stage of ``total`` pieces begins, of which ``done`` were there before.

        ``name`` is that of a stage of ``cycle`` (``design``, ``play``, ``update``), or of an evaluation's suite, which
        belongs to no cycle.
        """
        ...

    def advance(self, tokens: int, score: float | None = None, fault: Fault | None = None) -> None:
        """One piece is done, and ``tokens`` were sampled for it.

        An item of an evaluation has a ``score`` in [0, 1], and a ``fault`` if one ended it.
        """
        ...

    def note(self, text: str) -> None:
        """A line for people, which should stay visible."""
        ...

    def cycle_done(self, cycle: int, metrics: Mapping[str, float]) -> None:
        """A cycle is committed: its records and metrics (docs/metrics.md) are on disk."""
        ...


class NullObserver:
    """An ``Observer`` that ignores everything."""

    def stage(self, cycle: int | None, name: str, total: int, done: int = 0) -> None:
        """See ``Observer``."""

    def advance(self, tokens: int, score: float | None = None, fault: Fault | None = None) -> None:
        """See ``Observer``."""

    def note(self, text: str) -> None:
        """See ``Observer``."""

    def cycle_done(self, cycle: int, metrics: Mapping[str, float]) -> None:
        """See ``Observer``."""
