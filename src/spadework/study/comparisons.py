"""Paired comparisons over seeds, and what they say of a claim: held, not held or undecided.

The claim "a exceeds b by more than the bar" is tested on the differences a - b - bar of each seed, and the claim "a is
more than bar times b" on a - bar b. The one-sided paired t test decides. The sign-flip test stands beside it. It
assumes only that the differences are symmetric, but with few seeds it cannot decide (with 5 seeds, p is 1/32 at least).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from spadework.intervals import Interval, mean_interval, t_quantile
from spadework.significance import sign_flip, t_test
from spadework.study.spec import Hypothesis

Verdict = Literal["held", "not held", "undecided"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One arm against another over the seeds that both have."""

    than: str
    estimate: float
    """Difference of means, or ratio of means; of a claim against a bar alone, the mean."""
    low: float
    high: float
    """Its 95 % interval; infinite where the data do not bound a ratio, NaN where they leave it unknown."""
    t_p: float
    """P of the one-sided t test for lying beyond the bar; NaN for fewer than two seeds."""
    flip_p: float
    """P of the one-sided sign-flip test."""
    opposite_p: float
    """P of the one-sided t test for lying short of the bar."""
    n: int
    """Pairs of seeds."""
    meets: bool
    """Whether the estimate itself lies beyond the bar, without any test."""


def compare(
    than: str, own: Sequence[float], others: Sequence[float], claim: Hypothesis, bounds: tuple[float, float]
) -> Comparison:
    """Hold ``own`` against ``others``, paired by place, as ``claim`` says; a pair with a NaN is left out.

    ``bounds`` are the lowest and highest possible values of what is compared: of the difference, or of the ratio.
    """
    pairs = [(a, b) for a, b in zip(own, others, strict=True) if not math.isnan(a + b)]
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    sign = 1.0 if claim.side == "above" else -1.0
    if claim.by == "ratio":
        found = ratio_interval(first, second, least=bounds[0])
        beyond = [sign * (a - claim.bar * b) for a, b in pairs]
    else:
        found = mean_interval([a - b for a, b in pairs], *bounds)
        beyond = [sign * (a - b - claim.bar) for a, b in pairs]
    return Comparison(
        than=than,
        estimate=found.mean,
        low=found.low,
        high=found.high,
        t_p=t_test(beyond),
        flip_p=sign_flip(beyond, "greater"),
        opposite_p=t_test([-value for value in beyond]),
        n=len(pairs),
        meets=bool(pairs) and math.fsum(beyond) > 0,
    )


def ratio_interval(
    first: Sequence[float], second: Sequence[float], confidence: float = 0.95, least: float = -math.inf
) -> Interval:
    """mean(first) / mean(second) of paired values, with Fieller's interval: ratios that the paired t test admits.

    The interval is unbounded where the second mean is not told from 0, and never reaches below ``least``. The ends are
    NaN for fewer than two pairs, and where neither side has any spread to judge by.
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
    if saa <= 1e-24 * a * a and sbb <= 1e-24 * b * b:
        return Interval(a / b, n=n)
    # A ratio r is admitted where (a - r b)^2 <= saa - 2 r sab + r^2 sbb: between the roots of a square in r.
    square, half, rest = b * b - sbb, a * b - sab, a * a - saa
    if square <= 0:
        return Interval(a / b, -math.inf, math.inf, n=n)
    root = math.sqrt(max(0.0, half * half - square * rest))
    return Interval(a / b, max(least, (half - root) / square), (half + root) / square, n=n)


def verdict(comparisons: Sequence[Comparison], corrected: float, alpha: float) -> Verdict:
    """What is said of a claim against every one of ``comparisons``.

    A claim is held when ``corrected``, the corrected p of its weakest comparison, is at most ``alpha``. It is not held
    when the p for lying short of the bar is at most ``alpha`` in one comparison; that p is not corrected, so that the
    correction never turns a miss into an open question.
    """
    if any(one.opposite_p <= alpha for one in comparisons):
        return "not held"
    return "held" if corrected <= alpha else "undecided"
