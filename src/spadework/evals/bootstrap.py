"""Bootstrap intervals and paired tests over problems: tries of one problem stay together, groups keep their sizes."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from spadework.intervals import Interval

DRAWS = 4_000
"""Bootstrap samples, and sign flips of a test that cannot be counted out."""
EXACT = 16
"""Problems that differ up to which all sign flips are counted."""


class Scored(Protocol):
    """What is drawn: ``records.ItemResult``."""

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
        """Its problem."""
        ...

    @property
    def score(self) -> float:
        """From 0 to 1."""
        ...


def mean_interval(
    items: Sequence[Scored], *, by_group: bool = False, confidence: float = 0.95, least: float = 0.0
) -> Interval:
    """The mean score with a percentile interval of the bootstrap over problems.

    ``by_group``: the mean of the groups' means, problems drawn within each group. ``sd`` is that of the problems'
    means; ``n`` counts items. The ends are NaN below two problems. The draws are seeded: equal items, equal intervals.
    Where all scores are 0, or all 1, a bootstrap sees no doubt: the open end is then the exact binomial one.
    ``least`` is what a score cannot fall below: -1 for differences, which are open on both sides when all are 0.
    """
    if not items:
        return Interval(math.nan)
    groups = _groups(items) if by_group else [_units(items)]
    units = np.concatenate([sums / counts for sums, counts in groups])
    mean = float(np.mean([sums.sum() / counts.sum() for sums, counts in groups]))
    if len(units) < 2:
        return Interval(mean, n=len(items))
    tail = (1 - confidence) / 2
    if mean in (least, 0.0, 1.0) and np.all(units == mean):
        reach = 1 - tail ** (1 / len(units))
        return Interval(mean, max(least, mean - reach), min(1.0, mean + reach), 0.0, len(items))
    rng = np.random.default_rng(0)
    drawn = []
    for sums, counts in groups:
        chosen = rng.integers(0, len(sums), (DRAWS, len(sums)))
        drawn.append((sums[chosen].sum(axis=1), counts[chosen].sum(axis=1)))
    means = np.mean([sums / counts for sums, counts in drawn], axis=0)
    low, high = np.quantile(means, [tail, 1 - tail])
    return Interval(mean, float(low), float(high), float(np.std(units, ddof=1)), len(items))


def paired(first: Sequence[Scored], second: Sequence[Scored], *, by_group: bool = False) -> tuple[Interval, float]:
    """Second minus first on the items that both hold: the difference with its interval, and a two-sided p.

    ``by_group``: the mean of the groups' mean differences, as the score of such a suite is. The test flips the signs
    of the problems' differences (for one try of right or wrong that is McNemar's exact test).
    """
    one, two = ({item.id: item for item in items} for items in (first, second))
    both = [name for name in one if name in two]
    if not both:
        return Interval(math.nan), math.nan
    differences = [_Difference(name, one[name], two[name].score - one[name].score) for name in both]
    sizes = Counter(item.group if by_group else "" for item in differences)
    per_unit: dict[tuple[str, str], float] = defaultdict(float)
    for item in differences:
        per_unit[item.group, item.unit] += item.score
    weighed = [value / sizes[group if by_group else ""] for (group, _), value in per_unit.items()]
    return mean_interval(differences, by_group=by_group, least=-1.0), sign_flip(weighed)


def sign_flip(differences: Sequence[float]) -> float:
    """Two-sided p that differences so far from 0 in sum arise when each may as well have the other sign."""
    sizes = np.array([abs(value) for value in differences if value], dtype=float)
    if not len(sizes):
        return 1.0
    seen = abs(math.fsum(differences)) - 1e-9 * float(sizes.max())
    if np.all(sizes == sizes[0]):  # all of one size: the sum is binomial
        n, least = len(sizes), seen / sizes[0]
        return sum(math.comb(n, k) for k in range(n + 1) if abs(2 * k - n) >= least) / (1 << n)
    if len(sizes) <= EXACT:
        signs = 1 - 2 * (np.arange(2 ** len(sizes))[:, None] >> np.arange(len(sizes)) & 1)
        return float(np.mean(np.abs(signs @ sizes) >= seen))
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (DRAWS, len(sizes)))
    return float((1 + np.sum(np.abs(signs @ sizes) >= seen)) / (1 + DRAWS))


class _Difference:
    """A pair of one item's scores, as one thing to draw."""

    def __init__(self, name: str, item: Scored, score: float) -> None:
        self.id, self.group, self.unit, self.score = name, item.group, item.unit, score


Units = tuple[NDArray[np.float64], NDArray[np.float64]]


def _groups(items: Sequence[Scored]) -> list[Units]:
    members: Mapping[str, list[Scored]] = defaultdict(list)
    for item in items:
        members[item.group].append(item)
    return [_units(own) for own in members.values()]


def _units(items: Sequence[Scored]) -> Units:
    """The problems' sums of scores, and their numbers of tries."""
    units: Mapping[tuple[str, str], list[float]] = defaultdict(list)
    for item in items:
        units[item.group, item.unit or item.id].append(item.score)
    own = units.values()
    return np.array([math.fsum(scores) for scores in own]), np.array([float(len(scores)) for scores in own])
