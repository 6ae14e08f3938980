"""Estimate win rates and regret of one environment from one cycle's play, paired by seed.

Both arms share their seeds, and several plays may share one. The seed is the unit of all statistics: plays of one seed
are averaged first, and regret is the mean over seeds of hinted minus unhinted return. So whatever makes a seed hard in
both arms cancels out.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from spadework.intervals import Interval, t_interval, welch_interval
from spadework.types import Episode, Group

Weights = Mapping[int, float]
"""Seed -> its weight; a missing seed has weight 0."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimates for one environment in one cycle; NaN where there was no valid play."""

    regret: Interval
    """Hinted minus unhinted return, paired by seed, with its 95 % interval; may be negative."""
    hinted: bool
    """Whether the hinted arm was played."""
    unhinted_return: float
    unhinted_win_rate: float
    hinted_win_rate: float
    seed_returns: tuple[float, ...]
    """Mean unhinted return on each seed."""
    seed_spread: float
    """Standard deviation between the seeds' own mean returns; NaN unless seeds were played more than once."""


def estimate(arms: Mapping[str, Group], weights: Weights | None = None) -> Estimate:
    """Estimate from both arms; ``weights`` (``play.allocation``) weighs the seeds, which otherwise count equally."""
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

    Seeds that only one arm played are left out, because their difficulty would count on one side only. Arms that share
    fewer than two seeds are compared as independent samples (Welch) where they have enough plays.
    """
    hinted = seed_means(arms["hinted"]) if "hinted" in arms else {}
    unhinted = seed_means(arms["unhinted"]) if "unhinted" in arms else {}
    both = [seed for seed in hinted if seed in unhinted and (weights is None or weights.get(seed, 0.0) > 0.0)]
    if len(both) < 2 and min(len(hinted), len(unhinted)) > 1:
        return welch_interval(list(hinted.values()), list(unhinted.values()), confidence)
    shares = [weights[seed] for seed in both] if weights is not None else ()
    return t_interval([hinted[seed] - unhinted[seed] for seed in both], confidence, shares)


def seed_means(group: Group, value: Callable[[Episode], float] = lambda episode: episode.return_) -> dict[int, float]:
    """Seed -> mean of ``value`` over the seed's valid plays, in order of play."""
    return {seed: math.fsum(map(value, own)) / len(own) for seed, own in _by_seed(group).items()}


def seed_spread(group: Group) -> float:
    """Standard deviation between the seeds' true mean returns, corrected for the variance within seeds.

    It is sqrt(max(0, var(seed means) - mean(var within a seed / plays of the seed))), with sample variances; NaN for
    fewer than two seeds that were played twice or more.
    """
    own = [[episode.return_ for episode in episodes] for episodes in _by_seed(group).values() if len(episodes) > 1]
    if len(own) < 2:
        return math.nan
    # The plays of a seed differ by luck, which also moves the seed's mean: that part of the variance is taken off.
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
