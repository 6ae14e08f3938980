"""Stop a long job when several pieces of work in a row are lost to faults: the next one would be lost too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from spadework.errors import RunError, cause_lines

IN_A_ROW = 3
"""Number of lost pieces in a row after which a job stops."""


class Losses:
    """Counts consecutive pieces of work that gave no result because endpoint, model or sandbox failed."""

    def __init__(self) -> None:
        self._causes: Counter[str] = Counter()
        self._row = 0

    def take(self, causes: Mapping[str, int], *, lost: bool) -> None:
        """Count a piece, given its faults by cause and whether it was lost. Raises ``RunError`` to stop the job."""
        if not lost:
            self._causes, self._row = Counter(), 0
            return
        self._causes.update(causes)
        self._row += 1
        if self._row == IN_A_ROW:
            told = "; ".join(cause_lines(self._causes, most=3))
            raise RunError(f"stopped, for {self._row} in a row gave nothing: {told}. The same command goes on")
