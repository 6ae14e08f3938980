"""Bootstrap intervals and paired tests over problems: tries of one problem stay together, groups keep their sizes."""

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
"""Bootstrap samples."""


class ScoredItem(Protocol):
    """One try at one problem, as ``records.ItemResult`` has it."""

    @property
    def id(self) -> str:
        """Its name."""
        ...

    @property
    def group(self) -> str:
        """Its subcategory."""
        ...

    @property
    def unit(self) -> str:
        """Its problem; empty where the item is its own."""
        ...

    @property
    def score(self) -> float:
        """From 0 to 1."""
        ...


@dataclass(frozen=True, slots=True)
class Difference:
    """What a second result scored on an item beyond the first, from -1 to 1."""

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

    The draws are seeded: equal items have equal intervals. The ends are NaN for fewer than two problems. ``sd`` is the
    standard deviation of the problems' means, and ``n`` counts items. A bootstrap sees no doubt where all problems have
    one score; their interval is ``equal_values_interval``, which for 0 and 1 is the exact binomial one.

    Args:
        items: what was scored, up to 1.
        by_group: take the mean of the groups' means, and draw problems within each group.
        confidence: of the interval.
        least: the lowest possible score; -1 for differences.
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
    """Second minus first on the items that both hold: the difference with its interval, and a two-sided p.

    ``by_group``: the mean of the groups' mean differences, as the score of such a suite is. The test flips the signs
    of the problems' differences (for one try of right or wrong that is McNemar's exact test).
    """
    one, two = ({item.id: item for item in items} for items in (first, second))
    both = [name for name in one if name in two]
    if not both:
        return Interval(math.nan), math.nan
    differences = [
        Difference(name, one[name].group, one[name].unit, two[name].score - one[name].score) for name in both
    ]
    sizes = Counter(item.group if by_group else "" for item in differences)
    per_unit: dict[tuple[str, str], float] = defaultdict(float)
    for item in differences:
        per_unit[item.group, item.unit or item.id] += item.score
    weighed = [value / sizes[group if by_group else ""] for (group, _), value in per_unit.items()]
    return score_interval(differences, by_group=by_group, least=-1.0), sign_flip(weighed, "two-sided")


@dataclass(frozen=True, slots=True)
class _Problems:
    """The problems of one group, each with the sum of its scores and the number of its tries."""

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
        """The mean score of the problems at the places ``drawn``."""
        return self.sums[drawn].sum(axis) / self.tries[drawn].sum(axis)


def _by_group(items: Sequence[ScoredItem]) -> list[_Problems]:
    members: dict[str, list[ScoredItem]] = defaultdict(list)
    for item in items:
        members[item.group].append(item)
    return [_Problems.of(own) for own in members.values()]


def _percentiles(groups: Sequence[_Problems], confidence: float) -> tuple[float, float]:
    """The ends of the percentile interval of the mean of the groups' means; NaN where all groups hold one problem.

    scipy draws each sample on its own, so a group's sample is the places of its problems. A group of one problem gives
    the same whatever is drawn, and scipy refuses it.
    """
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
