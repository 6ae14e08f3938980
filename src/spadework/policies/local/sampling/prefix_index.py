"""The token ids in each row of the key/value cache, and how much of a prompt each row already has.

It decides nothing: ``continuous_batch`` chooses which row a prompt starts from.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_NO_TOKEN = -1
"""Fills a row beyond its length; it equals no token id, so a comparison ends there."""
_FIRST_BLOCK = 64


class PrefixIndex:
    """Token ids of ``rows`` rows of at most ``columns`` tokens; a prompt is compared with all rows at once."""

    def __init__(self, rows: int, columns: int) -> None:
        self._ids = np.full((rows, columns), _NO_TOKEN, dtype=np.int32)
        self._lengths = [0] * rows

    def length(self, row: int) -> int:
        """Number of tokens in a row."""
        return self._lengths[row]

    def shared_lengths(self, tokens: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """[rows]: length of the prefix that ``tokens`` and each row have in common."""
        wanted = np.asarray(tokens[: self._ids.shape[1]], dtype=np.int32)
        lengths = np.zeros(len(self._ids), dtype=np.int64)
        candidates = np.arange(len(self._ids))
        start, block = 0, _FIRST_BLOCK
        # Most rows differ early, so blocks begin small; the few rows that agree so far are read in ever larger blocks.
        while len(candidates) and start < len(wanted):
            part = wanted[start : start + block]
            same = self._ids[candidates, start : start + len(part)] == part
            whole = same.all(axis=1)
            # Where the block differs, argmin is the place of the first False.
            lengths[candidates] += np.where(whole, same.shape[1], same.argmin(axis=1))
            candidates = candidates[whole]
            start, block = start + len(part), 2 * block
        return lengths

    def extend(self, row: int, tokens: Sequence[int]) -> None:
        """Add tokens at the end of a row."""
        start = self._lengths[row]
        self._lengths[row] = start + len(tokens)
        self._ids[row, start : start + len(tokens)] = tokens

    def copy(self, source: int, target: int, length: int) -> None:
        """Make row ``target`` the first ``length`` tokens of row ``source``."""
        self._ids[target, :length] = self._ids[source, :length]
        self._ids[target, length : self._lengths[target]] = _NO_TOKEN
        self._lengths[target] = length

    def forget(self, row: int) -> None:
        """Empty a row."""
        self.copy(row, row, 0)


def shared_length(one: Sequence[int], other: Sequence[int]) -> int:
    """Length of the prefix that two rows have in common.

    Found by bisection, since Python compares two slices much faster than it loops over two tuples.
    """
    low, high = 0, min(len(one), len(other))
    one, other = list(one[:high]), list(other[:high])
    if one == other:
        return high
    # The rows agree before ``low`` and differ somewhere before ``high``.
    while high - low > 1:
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low
