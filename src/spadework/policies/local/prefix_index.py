"""Which tokens each row of the cache holds, and how far a prompt agrees with each of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_NOTHING = -1
_BLOCK = 64


class HeldTokens:
    """Token ids of ``rows`` rows of at most ``columns`` tokens; all rows are compared at once."""

    def __init__(self, rows: int, columns: int) -> None:
        self._ids = np.full((rows, columns), _NOTHING, dtype=np.int32)
        self._lengths = [0] * rows

    def length(self, row: int) -> int:
        """Tokens that a row holds."""
        return self._lengths[row]

    def common(self, tokens: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """[rows]: length of the common prefix of ``tokens`` with each row."""
        wanted = np.asarray(tokens[: self._ids.shape[1]], dtype=np.int32)
        lengths = np.zeros(len(self._ids), dtype=np.int64)
        agreeing, start, block = np.arange(len(self._ids)), 0, _BLOCK
        while len(agreeing) and start < len(wanted):  # most rows part early, so the next block is read for few
            part = wanted[start : start + block]
            same = self._ids[agreeing, start : start + len(part)] == part
            whole = same.all(axis=1)
            lengths[agreeing] += np.where(whole, same.shape[1], same.argmin(axis=1))
            agreeing, start, block = agreeing[whole], start + len(part), 2 * block
        return lengths

    def extend(self, row: int, tokens: Sequence[int]) -> None:
        """Add tokens at the end of a row."""
        start = self._lengths[row]
        self._lengths[row] = start + len(tokens)
        self._ids[row, start : start + len(tokens)] = tokens

    def copy(self, source: int, target: int, length: int) -> None:
        """Make row ``target`` the first ``length`` tokens of row ``source``."""
        self._ids[target, :length] = self._ids[source, :length]
        self._ids[target, length : self._lengths[target]] = _NOTHING
        self._lengths[target] = length

    def forget(self, row: int) -> None:
        """Empty a row."""
        self.copy(row, row, 0)
