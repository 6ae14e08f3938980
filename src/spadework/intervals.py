"""Means with two-sided confidence intervals: exact Student quantiles, no table and no library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its interval; the ends are NaN where fewer than two values leave them unknown."""

    mean: float
    low: float = math.nan
    high: float = math.nan
    sd: float = math.nan
    """Sample standard deviation of what the mean is over."""
    n: int = 0


def t_interval(values: Sequence[float], confidence: float = 0.95, weights: Sequence[float] = ()) -> Interval:
    """The mean of ``values`` with mean +- t s / sqrt(n); values without spread give an interval without width.

    With ``weights`` (positive, of any sum) the mean is weighted and 1 / sqrt(n) becomes sqrt(sum of squared shares).
    """
    n = len(values)
    if not n:
        return Interval(math.nan)
    plain = math.fsum(values) / n
    total = math.fsum(weights)
    shares = [weight / total for weight in weights] if weights else [1 / n] * n
    mean = math.fsum(share * value for share, value in zip(shares, values, strict=True)) if weights else plain
    if n < 2:
        return Interval(mean, n=n)
    sd = math.sqrt(math.fsum((value - plain) ** 2 for value in values) / (n - 1))
    half = t_quantile(confidence, n - 1) * sd * math.sqrt(math.fsum(share**2 for share in shares))
    return Interval(mean, mean - half, mean + half, sd, n)


def welch_interval(first: Sequence[float], second: Sequence[float], confidence: float = 0.95) -> Interval:
    """The mean of ``first`` minus that of ``second``, for values that have nothing to do with each other.

    ``n`` is the smaller count and ``sd`` the standard error times its root; degrees of freedom after Satterthwaite,
    rounded down.
    """
    one, two = t_interval(first, confidence), t_interval(second, confidence)
    n = min(one.n, two.n)
    if n < 2:
        return Interval(one.mean - two.mean, n=n)
    parts = [one.sd**2 / one.n, two.sd**2 / two.n]
    error = math.sqrt(math.fsum(parts))
    degrees = math.fsum(parts) ** 2 / (parts[0] ** 2 / (one.n - 1) + parts[1] ** 2 / (two.n - 1)) if error else n - 1
    half = t_quantile(confidence, max(1, math.floor(degrees))) * error
    mean = one.mean - two.mean
    return Interval(mean, mean - half, mean + half, error * math.sqrt(n), n)


@lru_cache(maxsize=4_096)
def t_quantile(confidence: float, degrees: int) -> float:
    """The t for which Student's distribution holds ``confidence`` between -t and t, by bisection."""
    low, high = 0.0, 1.0
    while _central(high, degrees) < confidence:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _central(middle, degrees) < confidence else (low, middle)
    return (low + high) / 2


def t_tail(t: float, degrees: int) -> float:
    """The chance that Student's t is at least ``t``."""
    beyond = (1 - _central(abs(t), degrees)) / 2
    return beyond if t >= 0 else 1 - beyond


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
