"""Paired comparisons over seeds, and what they say of a claim: held, not held or undecided.

A claim "a exceeds b by more than the bar" (or "a is more than bar times b") is tested on a - b - bar (or on
a - bar b), seed by seed: by the one-sided paired t test, and by the exact sign-flip test beside it, which assumes
only that the differences are symmetric. The t test decides; with few seeds the other cannot (5 seeds: p >= 1/32).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from spadework.intervals import Interval, t_interval, t_quantile, t_tail

Verdict = Literal["held", "not held", "undecided"]
MAX_FLIPS = 20
"""Seeds up to which all sign patterns are counted (a million)."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One arm against another over the seeds that both have."""

    than: str
    estimate: float
    """Difference of means, or ratio of means; of a claim against a bar alone, the mean."""
    low: float
    high: float
    """Its 95 % interval; infinite where the data do not bound a ratio, NaN for fewer than two seeds."""
    t_p: float
    """One-sided, for lying beyond the bar; NaN for fewer than two seeds."""
    flip_p: float
    """The same by sign flips."""
    opposite_p: float
    """One-sided t test for lying short of the bar."""
    n: int
    meets: bool
    """Whether the estimate itself lies beyond the bar: no test."""


def compare(
    than: str,
    own: Sequence[float],
    others: Sequence[float],
    *,
    by: Literal["difference", "ratio"],
    bar: float,
    side: Literal["above", "below"],
) -> Comparison:
    """Hold ``own`` against ``others``, paired by place; a pair with a NaN is left out."""
    pairs = [(a, b) for a, b in zip(own, others, strict=True) if not math.isnan(a + b)]
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    sign = 1.0 if side == "above" else -1.0
    if by == "ratio":
        found = ratio_interval(first, second)
        beyond = [sign * (a - bar * b) for a, b in pairs]
    else:
        found = t_interval([a - b for a, b in pairs])
        beyond = [sign * (a - b - bar) for a, b in pairs]
    return Comparison(
        than=than,
        estimate=found.mean,
        low=found.low,
        high=found.high,
        t_p=paired_t(beyond),
        flip_p=sign_flip(beyond),
        opposite_p=paired_t([-value for value in beyond]),
        n=len(pairs),
        meets=bool(pairs) and math.fsum(beyond) > 0,
    )


def paired_t(differences: Sequence[float]) -> float:
    """One-sided p of mean > 0 by Student's t, of equal values by sign flips; NaN for fewer than two."""
    found = t_interval(differences)
    if found.n < 2:
        return math.nan
    if found.sd <= 1e-12 * abs(found.mean):
        return sign_flip(differences)
    return t_tail(found.mean / (found.sd / math.sqrt(found.n)), found.n - 1)


def sign_flip(differences: Sequence[float]) -> float:
    """One-sided p of mean > 0: the share of the 2^n sign patterns whose sum is at least the one seen.

    NaN for none, and for more than ``MAX_FLIPS``.
    """
    if not 0 < len(differences) <= MAX_FLIPS:
        return math.nan
    sums = np.zeros(1)
    for value in differences:
        sums = np.concatenate([sums + value, sums - value])
    rounding = 1e-12 * max(1.0, float(np.abs(sums).max()))
    return float(np.mean(sums >= math.fsum(differences) - rounding))


def ratio_interval(first: Sequence[float], second: Sequence[float], confidence: float = 0.95) -> Interval:
    """mean(first) / mean(second) of paired values, with Fieller's interval: ratios that the paired t test admits.

    The interval is unbounded where the second mean is not told from 0.
    """
    n = len(first)
    if not n or not math.fsum(second):
        return Interval(math.nan, n=n)
    a, b = math.fsum(first) / n, math.fsum(second) / n
    if n < 2:
        return Interval(a / b, n=n)
    spread = t_quantile(confidence, n - 1) ** 2 / (n * (n - 1))
    saa, sbb, sab = (
        spread * math.fsum((x - p) * (y - q) for x, y in zip(left, right, strict=True))
        for left, right, p, q in ((first, first, a, a), (second, second, b, b), (first, second, a, b))
    )
    # admitted: (a - r b)^2 <= saa - 2 r sab + r^2 sbb
    square, half, rest = b * b - sbb, a * b - sab, a * a - saa
    if square <= 0:
        return Interval(a / b, -math.inf, math.inf, n=n)
    root = math.sqrt(max(0.0, half * half - square * rest))
    return Interval(a / b, (half - root) / square, (half + root) / square, n=n)


def holm(values: Sequence[float]) -> list[float]:
    """P values corrected for all being looked at, after Holm; a NaN counts as 1."""
    known = [1.0 if math.isnan(value) else value for value in values]
    order = sorted(range(len(known)), key=lambda place: known[place])
    corrected, worst = [1.0] * len(known), 0.0
    for rank, place in enumerate(order):
        worst = max(worst, min(1.0, known[place] * (len(known) - rank)))
        corrected[place] = worst
    return corrected


def verdict(comparisons: Sequence[Comparison], corrected: float, alpha: float) -> Verdict:
    """What is said of a claim against every one of ``comparisons``.

    ``held`` needs the corrected p of the weakest of them; ``not held`` one that lies short of the bar, uncorrected, so
    that a correction never turns a miss into an open question.
    """
    if any(one.opposite_p <= alpha for one in comparisons):
        return "not held"
    return "held" if corrected <= alpha else "undecided"
