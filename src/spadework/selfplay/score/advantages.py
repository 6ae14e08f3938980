"""Advantages of the agent: z-scores within a group (method section 6)."""

from __future__ import annotations

import math
from collections.abc import Sequence

EPSILON = 1e-8
SPREAD = 1e-6
"""A group whose standard deviation is below this carries no gradient."""


def group_advantages(returns: Sequence[float]) -> tuple[float, ...] | None:
    """A_i = (R_i - mean R) / (std R + 1e-8), population std; ``None`` for a group without spread.

    Args:
        returns: returns of the valid episodes of one environment and arm.
    """
    if len(returns) < 2:
        return None
    mean = math.fsum(returns) / len(returns)
    std = math.sqrt(math.fsum((value - mean) ** 2 for value in returns) / len(returns))
    if std < SPREAD:
        return None
    return tuple((value - mean) / (std + EPSILON) for value in returns)
