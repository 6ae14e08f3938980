"""Regret of one environment with an interval: the t interval of the differences between both arms on the same seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spadework.types import Group


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its two-sided interval; the ends are NaN where fewer than two values leave it unknown."""

    mean: float
    low: float
    high: float


def paired_regret(arms: Mapping[str, Group], confidence: float = 0.95) -> Interval:
    """Hinted minus unhinted return, over the seeds that both arms played without a fault."""
    returns = {arm: {e.seed: e.return_ for e in group.valid} for arm, group in arms.items()}
    hinted, unhinted = returns.get("hinted", {}), returns.get("unhinted", {})
    return t_interval([hinted[seed] - unhinted[seed] for seed in hinted if seed in unhinted], confidence)


def t_interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """The mean of ``values`` with mean +- t s / sqrt(n); values without spread give an interval without width."""
    n = len(values)
    if n < 2:
        return Interval(values[0] if values else math.nan, math.nan, math.nan)
    mean = math.fsum(values) / n
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    half = t_quantile(confidence, n - 1) * spread / math.sqrt(n)
    return Interval(mean, mean - half, mean + half)


def t_quantile(confidence: float, degrees: int) -> float:
    """The t for which Student's distribution holds ``confidence`` between -t and t, by bisection."""
    low, high = 0.0, 1.0
    while _central(high, degrees) < confidence:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _central(middle, degrees) < confidence else (low, middle)
    return (low + high) / 2


def _central(t: float, degrees: int) -> float:
    """Probability between -t and t: the finite sums of Abramowitz and Stegun 26.7.3 and 26.7.4."""
    angle = math.atan(t / math.sqrt(degrees))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = degrees % 2
    total = term = cosine if odd else 1.0
    for k in range(3 if odd else 2, degrees - 1, 2):
        term *= cosine**2 * (k - 1) / k
        total += term
    if not odd:
        return sine * total
    return 2 / math.pi * (angle + (sine * total if degrees > 1 else 0.0))
