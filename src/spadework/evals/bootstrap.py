"""Bootstrap intervals and paired tests over problems.

The problem is the unit that is resampled: all tries of a problem are drawn together, and every group keeps its number
of problems. The general statistics are scipy's; this module only prepares the data for them.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from spadework.intervals import Interval, equal_values_interval
from spadework.significance import scipy_stats, sign_flip

DRAWS = 4_000
"""Number of bootstrap resamples."""


class ScoredItem(Protocol):
    """One try at one problem; ``records.ItemResult`` satisfies this protocol."""

    @property
    def id(self) -> str:
        """Name of the item, unique in its suite."""
        ...

    @property
    def group(self) -> str:
        """Subcategory of the suite; empty in a suite without any."""
        ...

    @property
    def unit(self) -> str:
        """Name of the problem that the item is a try at; empty where each problem has a single item."""
        ...

    @property
    def score(self) -> float:
        """Score of the item, from 0 to 1."""
        ...


@dataclass(frozen=True, slots=True)
class Difference:
    """Score of an item in a second result minus its score in the first, from -1 to 1."""

    id: str
    group: str
    unit: str
    score: float


def mean_score(items: Sequence[ScoredItem], *, by_group: bool = False) -> float:
    """The mean score, or the mean of the groups' means; NaN for no items."""
    groups: dict[str, list[float]] = defaultdict(list)
    for item in items:
        groups[item.group if by_group else ""].append(item.score)
    means = [math.fsum(scores) / len(scores) for scores in groups.values()]
    return math.fsum(means) / len(means) if means else math.nan


def score_interval(
    items: Sequence[ScoredItem], *, by_group: bool = False, confidence: float = 0.95, least: float = 0.0
) -> Interval:
    """The mean score with a percentile interval of the bootstrap over problems.

    The resampling is seeded, so equal items give equal intervals. The ends are NaN for fewer than two problems. ``sd``
    is the standard deviation of the problems' means, and ``n`` counts items. Where all problems have the same score, a
    bootstrap would give an interval of width 0; the interval is then ``equal_values_interval``, which for scores of
    0 and 1 is the exact binomial interval.

    Args:
        items: the scored items; no score is above 1.
        by_group: whether to take the mean of the groups' means and resample problems within each group.
        confidence: the confidence level of the interval.
        least: the lowest possible score: 0 for scores, -1 for differences of scores.
    """
    if not items:
        return Interval(math.nan)
    groups = _by_group(items) if by_group else [_Problems.of(items)]
    units = np.concatenate([group.sums / group.tries for group in groups])
    mean = mean_score(items, by_group=by_group)
    if len(units) < 2:
        return Interval(mean, n=len(items))
    if np.all(units == units[0]):
        bounds = equal_values_interval(mean, len(units), least, 1.0, confidence)
        return Interval(mean, bounds.low, bounds.high, 0.0, len(items))
    low, high = _percentiles(groups, confidence)
    return Interval(mean, low, high, float(np.std(units, ddof=1)), len(items))


def paired(
    first: Sequence[ScoredItem], second: Sequence[ScoredItem], *, by_group: bool = False
) -> tuple[Interval, float]:
    """Compare two results on the items that both hold; returns (second minus first with its interval, two-sided p).

    With ``by_group`` the difference is the mean of the groups' mean differences, like the score of a suite that is
    averaged over groups. The test is a sign-flip permutation test over problems. For a single right-or-wrong try per
    problem it equals McNemar's exact test.
    """
    one, two = ({item.id: item for item in items} for items in (first, second))
    both = [name for name in one if name in two]
    if not both:
        return Interval(math.nan), math.nan
    differences = [
        Difference(name, one[name].group, one[name].unit, two[name].score - one[name].score) for name in both
    ]
    # The sign flips need one number per problem whose sum is the statistic. So the differences of a problem's tries are
    # added up, and divided by the size of the group that the mean is taken over.
    sizes = Counter(item.group if by_group else "" for item in differences)
    per_unit: dict[tuple[str, str], float] = defaultdict(float)
    for item in differences:
        per_unit[item.group, item.unit or item.id] += item.score
    weighed = [value / sizes[group if by_group else ""] for (group, _), value in per_unit.items()]
    return score_interval(differences, by_group=by_group, least=-1.0), sign_flip(weighed, "two-sided")


@dataclass(frozen=True, slots=True)
class _Problems:
    """The problems of one group: the sum of the scores of each, and its number of tries; both of shape (problems,)."""

    sums: NDArray[np.float64]
    tries: NDArray[np.float64]

    @classmethod
    def of(cls, items: Sequence[ScoredItem]) -> _Problems:
        scores: dict[tuple[str, str], list[float]] = defaultdict(list)
        for item in items:
            scores[item.group, item.unit or item.id].append(item.score)
        sums = [math.fsum(own) for own in scores.values()]
        return cls(np.array(sums), np.array([float(len(own)) for own in scores.values()]))

    def mean(self, drawn: NDArray[np.int64], axis: int) -> Any:
        """The mean score over all tries of the problems with the indices ``drawn``."""
        return self.sums[drawn].sum(axis) / self.tries[drawn].sum(axis)


def _by_group(items: Sequence[ScoredItem]) -> list[_Problems]:
    members: dict[str, list[ScoredItem]] = defaultdict(list)
    for item in items:
        members[item.group].append(item)
    return [_Problems.of(own) for own in members.values()]


def _percentiles(groups: Sequence[_Problems], confidence: float) -> tuple[float, float]:
    """The ends of the percentile interval of the mean of the groups' means; NaN where every group holds one problem."""
    # scipy resamples each of its samples separately, and each of ours is one group. It resamples the indices of the
    # group's problems, so that a problem's tries stay together. It refuses a sample of one; such a group has the same
    # mean in every resample, and is added as a constant.
    several = [group for group in groups if len(group.sums) > 1]
    if not several:
        return math.nan, math.nan
    fixed = [float(group.mean(np.zeros(1, np.int64), 0)) for group in groups if len(group.sums) == 1]

    def mean_of_means(*samples: Any, axis: int) -> Any:
        means = [group.mean(drawn, axis) for group, drawn in zip(several, samples, strict=True)]
        return (sum(means) + math.fsum(fixed)) / len(groups)

    found = scipy_stats().bootstrap(
        [np.arange(len(group.sums)) for group in several],
        mean_of_means,
        n_resamples=DRAWS,
        vectorized=True,
        confidence_level=confidence,
        method="percentile",
        rng=np.random.default_rng(0),
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)
