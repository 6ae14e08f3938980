"""Two-sided confidence intervals for means, shares and differences, exact and without scipy.

Choose by what the values are:

* ``share_interval``: so many wins of so many tries (Clopper and Pearson, exact at every n);
* ``mean_interval``: the mean of values that have a known range (Student, cut to the range);
* ``difference_interval``: the difference between the means of two independent samples (Welch, cut to its range);
* ``bounded``: an interval that was worked out without its range, cut to it;
* ``t_interval`` and ``welch_interval``: the same without a range. They give no width to values without spread, so use
  them where a program weighs the result, and the others where a person reads it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

UNBOUNDED = (-math.inf, math.inf)
_REGRETS = (-2.0, 2.0)
"""The range of a difference of two returns, each in [-1, 1]."""
"""The range of a quantity of which nothing is known."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its interval; the ends are NaN where the values leave them unknown."""

    mean: float
    low: float = math.nan
    high: float = math.nan
    sd: float = math.nan
    """Sample standard deviation of what the mean is over."""
    n: int = 0


def share_interval(wins: int, n: int, confidence: float = 0.95) -> Interval:
    """The share ``wins / n`` with the exact binomial interval of Clopper and Pearson; NaN ends for no tries.

    The low end is the share at which so many wins or more have the chance (1 - confidence) / 2; the high end is the
    share at which so few or fewer have it.
    """
    if not n:
        return Interval(math.nan)
    low, high = _clopper_pearson(wins, n, confidence)
    share = wins / n
    sd = math.sqrt(share * (1 - share) * n / (n - 1)) if n > 1 else math.nan
    return Interval(share, low, high, sd, n)


def mean_interval(values: Sequence[float], low: float, high: float, confidence: float = 0.95) -> Interval:
    """The mean of values that lie in [``low``, ``high``], with Student's interval as ``bounded`` has it.

    The ends are NaN for fewer than two values, and for equal values without a finite range.
    """
    return bounded(t_interval(values, confidence), low, high, confidence)


def bounded(found: Interval, low: float, high: float, confidence: float = 0.95) -> Interval:
    """An interval by Student or Welch of what lies in [``low``, ``high``], in the form in which people should see it.

    It is cut to that range. It has no width where all values were equal, as two wins of two are; there it becomes the
    range of means that leave such a sample a fair chance (``equal_values_interval``).
    """
    if found.n < 2:
        return found
    if _are_equal(found):
        return equal_values_interval(found.mean, found.n, low, high, confidence)
    return Interval(found.mean, max(low, found.low), min(high, found.high), found.sd, found.n)


def bounded_regret(found: Interval) -> Interval:
    """``bounded`` for a difference of two mean returns, which lie in [-1, 1] unless rewards add up beyond that.

    Where they did, no range is known, and equal values leave the ends unknown.
    """
    low, high = _REGRETS
    return bounded(found, *(_REGRETS if low <= found.mean <= high else UNBOUNDED))


def difference_interval(
    first: Sequence[float], second: Sequence[float], low: float, high: float, confidence: float = 0.95
) -> Interval:
    """The mean of ``first`` minus that of ``second``, independent values that all lie in [``low``, ``high``].

    This is Welch's interval, cut to [low - high, high - low]. Where neither sample has any spread, each gets its own
    interval of equal values, at a confidence that leaves the difference ``confidence`` in all.
    """
    found = welch_interval(first, second, confidence)
    if found.n < 2:
        return found
    if _are_equal(t_interval(first)) and _are_equal(t_interval(second)):
        each = (1 + confidence) / 2
        one, two = (mean_interval(values, low, high, each) for values in (first, second))
        return Interval(found.mean, one.low - two.high, one.high - two.low, 0.0, found.n)
    width = high - low
    return Interval(found.mean, max(-width, found.low), min(width, found.high), found.sd, found.n)


def equal_values_interval(value: float, n: int, low: float, high: float, confidence: float = 0.95) -> Interval:
    """The interval of the mean in [``low``, ``high``] when all of ``n`` values were ``value``.

    Other values may have a share of up to q = 1 - ((1 - confidence) / 2)^(1 / n), for a larger share would have shown
    itself in n tries. They can pull the mean by q towards either end of the range. For shares of 0 and 1 that is the
    interval of Clopper and Pearson. The ends are NaN where the range is infinite.
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        return Interval(value, sd=0.0, n=n)
    unseen = 1 - ((1 - confidence) / 2) ** (1 / n)
    return Interval(value, value - unseen * (value - low), value + unseen * (high - value), 0.0, n)


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
    """The mean of ``first`` minus that of ``second``, for two independent samples of unequal variance.

    ``n`` is the smaller count, and ``sd`` the standard error times the root of ``n``. The degrees of freedom are
    Satterthwaite's, rounded down.
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


@lru_cache(maxsize=4_096)
def _clopper_pearson(wins: int, n: int, confidence: float) -> tuple[float, float]:
    tail = (1 - confidence) / 2
    # A share of p gives more losses than wins exactly as a share of 1 - p gives more wins than losses.
    return _share_with_tail(wins, n, tail), 1 - _share_with_tail(n - wins, n, tail)


def _share_with_tail(wins: int, n: int, tail: float) -> float:
    """The share at which ``wins`` or more of ``n`` have the chance ``tail``; 0 where no win was seen."""
    if wins == 0:
        return 0.0
    counts = np.arange(wins, n + 1)
    ways = np.array([math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(wins, n + 1)])
    low, high = 0.0, 1.0
    for _ in range(60):  # the chance rises with the share, so bisection finds it to the last digit
        share = (low + high) / 2
        chance = float(np.exp(ways + counts * math.log(share) + (n - counts) * math.log1p(-share)).sum())
        low, high = (share, high) if chance < tail else (low, share)
    return (low + high) / 2


def _are_equal(found: Interval) -> bool:
    """Whether the values differ by no more than their sum was rounded."""
    return found.sd <= 1e-12 * abs(found.mean)
