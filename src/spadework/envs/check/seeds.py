"""The seeds that programs are checked with: of 31 bits, as those of plays.

They are the same for every program, so a harmless change of a text does not change its verdict.
"""

from __future__ import annotations

from spadework.types import derive_seed


def draw_seed(index: int) -> int:
    """The ``index``-th seed."""
    return derive_seed(0, "checked", index) % 2**31


def draw_seeds(count: int) -> tuple[int, ...]:
    """The first ``count`` seeds."""
    return tuple(draw_seed(index) for index in range(count))
