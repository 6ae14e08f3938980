"""How many episodes an environment gets: a fixed count, or few at first and more where they still decide something.

Stopping early on what was seen biases a plain mean: it stops on a lucky streak and goes on after an unlucky one. What
the first episodes say is not biased, for nothing was stopped before them, and the order in which seeds were played is
arbitrary. So each seed is weighted by its chance to stand among the first, over all orders of the seeds played that
the rule would not have stopped earlier (Rao and Blackwell: the mean of the first, given all that was seen). The
weighted means are unbiased whatever the rule; ``benchmarks/estimators.py`` shows it.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from spadework.config import PlaySection, RewardSection
from spadework.intervals import Interval
from spadework.selfplay.records import Evidence
from spadework.selfplay.rewards import SkillAverages, raw_reward
from spadework.selfplay.seeds import Weights, seed_means
from spadework.types import Group, derive_seed

ORDERS = 400
"""Orders that are tried for the weights."""

Seen = tuple[float, float]
"""Mean (hinted, unhinted) return on one seed; NaN where an arm has no valid play of it."""


class Allocation:
    """The rule of ``play.allocation``: pure, so that ``spadework rescore`` weighs stored episodes as the loop did.

    A look falls at ``start_episodes`` of each arm and every ``batch_episodes`` after it. Where both arms are played an
    environment stops when its raw reward varies by at most ``tolerance`` over one standard error of return and regret
    on either side; where only the unhinted arm is, when all returns are the same: such a group trains nothing.
    """

    def __init__(self, play: PlaySection, reward: RewardSection, full: int) -> None:
        """``full`` is the larger count of both arms."""
        self.play, self.reward, self.full = play, reward, full
        self._nobody = SkillAverages(reward.gamma_fast, reward.gamma_slow)
        looks = range(play.start_episodes, full, play.batch_episodes)
        self._looks = tuple(looks) if play.allocation == "adaptive" else ()

    def rounds(self) -> list[range]:
        """Indices of the episodes between one look and the next, the last to the full count."""
        edges = (0, *self._looks, self.full)
        return [range(first, last) for first, last in pairwise(edges)]

    def undecided(self, arms: Mapping[str, Mapping[str, Group]]) -> set[str]:
        """Of environments by id and their arms so far, those that go on."""
        return {name for name, own in arms.items() if not self.decided(list(_seen(own).values()), "hinted" in own)}

    def decided(self, seen: Sequence[Seen], paired: bool) -> bool:
        """Whether what was seen on these seeds is enough; ``paired`` says that both arms are played."""
        if not paired:
            returns = [unhinted for _, unhinted in seen if not math.isnan(unhinted)]
            return bool(returns) and min(returns) == max(returns)
        pairs = [(hinted, unhinted) for hinted, unhinted in seen if not math.isnan(hinted + unhinted)]
        return bool(pairs) and self._span(pairs) <= self.play.tolerance

    def weights(self, arms: Mapping[str, Group]) -> Weights | None:
        """What each seed counts in the estimate; ``None`` when all count alike."""
        seen = _seen(arms)
        looks = [look // self.play.plays_per_seed for look in self._looks]
        passed = [look for look in looks if look < len(seen)]
        if not passed or len(set(seen.values())) == 1:
            return None
        seeds, first = list(seen), passed[0]
        rng = random.Random(derive_seed(0, "allocation", *seeds))
        counts: Counter[int] = Counter(seeds[:first])  # the order that was played is one of those that go on
        kept = 1
        for _ in range(ORDERS):
            order = rng.sample(seeds, len(seeds))
            values = [seen[seed] for seed in order]
            if not any(self.decided(values[:look], "hinted" in arms) for look in passed):
                counts.update(order[:first])
                kept += 1
        return {seed: count / (kept * first) for seed, count in counts.items()}

    def _span(self, pairs: Sequence[Seen]) -> float:
        """How far the raw reward varies over one standard error on either side of mean return and regret.

        Half a win and half a loss, or half a gain and half a loss by the hint, are added to what was seen, so that few
        equal returns do not pass for certainty.
        """
        solved = _spread([unhinted for _, unhinted in pairs], (0.0, 1.0))
        regret = _spread([hinted - unhinted for hinted, unhinted in pairs], (-1.0, 1.0))
        raws = [self._raw(w, r) for w in (solved.low, solved.mean, solved.high) for r in (regret.low, regret.high)]
        return max(raws) - min(raws)

    def _raw(self, solved: float, regret: float) -> float:
        if self.reward.type in ("learning_potential", "micro_lp"):
            return solved  # a difference of returns: as wide as the return's own interval
        evidence = Evidence("", Interval(regret), solved, (solved,), (min(1.0, max(0.0, solved)),))
        raw = raw_reward(evidence, self.reward, self._nobody)
        assert raw is not None
        return raw


def _seen(arms: Mapping[str, Group]) -> dict[int, Seen]:
    """Seed -> what both arms got on it, in order of play; seeds lost to faults are in it."""
    hinted, unhinted = (seed_means(arms[arm]) if arm in arms else {} for arm in ("hinted", "unhinted"))
    seeds = dict.fromkeys(episode.seed for group in arms.values() for episode in group.episodes)
    return {seed: (hinted.get(seed, math.nan), unhinted.get(seed, math.nan)) for seed in seeds}


def _spread(values: Sequence[float], pseudo: tuple[float, float]) -> Interval:
    """Mean and one standard error on either side, of ``values`` and half of each of two pseudo-observations."""
    n = len(values) + 1
    mean = (math.fsum(values) + sum(pseudo) / 2) / n
    square = (math.fsum(value**2 for value in values) + sum(value**2 for value in pseudo) / 2) / n
    error = math.sqrt(max(0.0, square - mean**2) / n)
    return Interval(mean, mean - error, mean + error)
