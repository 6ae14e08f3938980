"""What a cycle's play says of one environment, seed by seed: both arms share their seeds, and so may several plays.

A seed is the unit: plays of one seed are averaged first, and regret is the mean over seeds of hinted minus unhinted,
so that what makes a seed hard for both arms cancels out.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from spadework.intervals import Interval, t_interval, welch_interval
from spadework.types import Episode, Group

Weights = Mapping[int, float]
"""Seed -> how much it counts; a seed that is missing counts nothing."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Of one environment in one cycle; NaN where nothing valid was played."""

    regret: Interval
    """Hinted minus unhinted return, paired by seed, with its 95 % interval; may be negative."""
    hinted: bool
    """Whether the hinted arm was played."""
    unhinted_return: float
    unhinted_win_rate: float
    hinted_win_rate: float
    seed_returns: tuple[float, ...]
    """Mean unhinted return of each seed."""
    seed_spread: float
    """Standard deviation between the seeds' own mean returns; NaN unless seeds were played more than once."""


def estimate(arms: Mapping[str, Group], weights: Weights | None = None) -> Estimate:
    """Read both arms of an environment, its seeds weighted by ``weights`` (``play.allocation``) or all alike."""
    unhinted = arms.get("unhinted")
    return Estimate(
        regret=paired_regret(arms, weights=weights),
        hinted="hinted" in arms,
        unhinted_return=_mean(unhinted, weights, lambda group: group.mean_return, lambda episode: episode.return_),
        unhinted_win_rate=_win_rate(unhinted, weights),
        hinted_win_rate=_win_rate(arms.get("hinted"), weights),
        seed_returns=tuple(seed_means(unhinted).values()) if unhinted else (),
        seed_spread=seed_spread(unhinted) if unhinted else math.nan,
    )


def paired_regret(arms: Mapping[str, Group], confidence: float = 0.95, weights: Weights | None = None) -> Interval:
    """Hinted minus unhinted return: the t interval over the seeds that both arms played without a fault.

    What only one arm played is left out: its seed's difficulty would count on one side. Arms that share fewer than two
    seeds are compared as strangers (Welch), if at all.
    """
    hinted, unhinted = ((seed_means(arms[arm]) if arm in arms else {}) for arm in ("hinted", "unhinted"))
    both = [seed for seed in hinted if seed in unhinted and (weights is None or weights.get(seed, 0.0) > 0.0)]
    if len(both) < 2 and min(len(hinted), len(unhinted)) > 1:
        return welch_interval(list(hinted.values()), list(unhinted.values()), confidence)
    shares = [weights[seed] for seed in both] if weights is not None else ()
    return t_interval([hinted[seed] - unhinted[seed] for seed in both], confidence, shares)


def seed_means(group: Group, value: Callable[[Episode], float] = lambda episode: episode.return_) -> dict[int, float]:
    """Seed -> mean over its valid plays, in order of play."""
    return {seed: math.fsum(map(value, own)) / len(own) for seed, own in _by_seed(group).items()}


def seed_spread(group: Group) -> float:
    """Standard deviation between seeds' true mean returns: that of the observed means without the luck within seeds.

    sqrt(max(0, var(seed means) - mean(var within a seed / plays of it))), sample variances; NaN for fewer than two
    seeds that were played twice or more.
    """
    own = [[episode.return_ for episode in episodes] for episodes in _by_seed(group).values() if len(episodes) > 1]
    if len(own) < 2:
        return math.nan
    luck = math.fsum(t_interval(values).sd ** 2 / len(values) for values in own) / len(own)
    between = t_interval([math.fsum(values) / len(values) for values in own]).sd ** 2
    return math.sqrt(max(0.0, between - luck))


def _by_seed(group: Group) -> dict[int, list[Episode]]:
    found: dict[int, list[Episode]] = defaultdict(list)
    for episode in group.valid:
        found[episode.seed].append(episode)
    return dict(found)


def _win_rate(group: Group | None, weights: Weights | None) -> float:
    return _mean(group, weights, lambda group: group.win_rate, lambda episode: float(episode.win))


def _mean(
    group: Group | None,
    weights: Weights | None,
    plain: Callable[[Group], float],
    value: Callable[[Episode], float],
) -> float:
    if group is None:
        return math.nan
    if weights is None:
        return plain(group)
    means = {seed: mean for seed, mean in seed_means(group, value).items() if weights.get(seed, 0.0) > 0.0}
    return t_interval(list(means.values()), weights=[weights[seed] for seed in means]).mean
