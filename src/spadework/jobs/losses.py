"""When a long job stops: pieces in a row that were lost whole to the machinery say that the next one will be, too."""

from __future__ import annotations

from collections.abc import Sequence

from spadework.errors import RunError, blames_machinery, cause_lines, causes
from spadework.types import Fault

IN_A_ROW = 3
"""Lost pieces after which a job stops."""


class Losses:
    """Counts pieces of work that gave nothing because endpoint, model or sandbox failed."""

    def __init__(self) -> None:
        self._lost: list[Fault] = []
        self._row = 0

    def take(self, faults: Sequence[Fault], *, gave: bool) -> None:
        """Take in a piece: its faults, and whether it gave anything all the same. Raises ``RunError``."""
        if gave or not faults or not all(map(blames_machinery, faults)):
            self._lost, self._row = [], 0
            return
        self._lost += faults
        self._row += 1
        if self._row == IN_A_ROW:
            told = "; ".join(cause_lines(causes(self._lost), most=3))
            raise RunError(f"stopped, for {self._row} in a row gave nothing: {told}. The same command goes on")
