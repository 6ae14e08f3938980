"""How many episodes an environment gets: a fixed count, or a few first and more only where they matter (adaptive).

In the later cycles of a design's window only the unhinted arm is played, and the count follows from the returns of
earlier cycles. It is fixed before the cycle's first episode, so it introduces no bias. It is small where the window's
mean is known well enough to determine the reward, and large where the mean lies on a slope of the reward.

In the first cycle the rule has only that cycle's own episodes to go by. Stopping early on the returns seen so far
biases a plain mean: the rule stops after a lucky streak and continues after an unlucky one. The mean of the first
episodes is unbiased, since nothing was stopped before them, and the order in which seeds were played is arbitrary. So
the estimate is the expectation of that mean given all that was seen (Rao and Blackwell): each seed is weighted by its
chance to be among the first, over all orders of the played seeds in which the rule would not have stopped earlier. The
weighted means are unbiased under any rule; ``benchmarks/estimators.py`` shows it.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import NormalDist

from spadework.config import PlaySection, RewardSection
from spadework.intervals import Interval
from spadework.selfplay.records import Evidence
from spadework.selfplay.score.rewards import build_reward
from spadework.selfplay.score.seeds import Weights, seed_means
from spadework.types import Group, derive_seed

ORDERS = 400
"""Number of random orders from which the weights are estimated."""
_QUANTILES = tuple(NormalDist().inv_cdf((i + 0.5) / 9) for i in range(9))
"""Nine equally likely positions of the true mean, in standard errors from the observed mean."""

Seen = tuple[float, float]
"""(hinted, unhinted) mean return on one seed; NaN where an arm has no valid play of the seed."""


class Allocation:
    """The rule of ``play.allocation``. It is pure: ``spadework rescore`` weighs stored episodes just as the loop did.

    A look falls at ``start_episodes`` of each arm and every ``batch_episodes`` after it. Where both arms are played an
    environment stops when its raw reward varies by at most ``tolerance`` over one standard error of return and regret
    on either side; where only the unhinted arm is, and nothing is known of it, when all returns are the same: such a
    group trains nothing. In later cycles of its window ``later`` says how many episodes there are, without a look.
    """

    def __init__(self, play: PlaySection, reward: RewardSection, full: int, window: int = 1) -> None:
        """``full`` is the larger count of both arms, ``window`` the cycles whose mean return counts in the reward."""
        self.play, self.full, self.window = play, full, window
        self._reward = build_reward(reward)
        looks = range(play.start_episodes, full, play.batch_episodes)
        self._looks = tuple(looks) if play.allocation == "adaptive" else ()

    def rounds(self) -> list[range]:
        """The ranges of episode indices between looks at the returns; the last ends at the full count."""
        edges = (0, *self._looks, self.full)
        return [range(first, last) for first, last in pairwise(edges)]

    def later(self, known: Evidence) -> int:
        """Episodes in a later cycle of the window, given what was seen before it.

        The fewest, two seeds at least, that leave the raw reward within half of ``tolerance`` (root mean square) if
        every cycle of the window had as many: over where the true mean may lie, and one standard error of the
        window's mean on either side of it.
        """
        step, regret = self.play.plays_per_seed, 0.0 if math.isnan(known.regret) else known.regret
        if self.play.allocation == "fixed" or not known.seeds:
            return self.full
        solved, n = _spread(known.seeds, (0.0, 1.0)), len(known.seeds) + 1
        error = solved.high - solved.mean
        means = [solved.mean + z * error for z in _QUANTILES]
        for count in range(2 * step, self.full, step):
            left = error * math.sqrt(n * step / (self.window * count))
            raws = [[self._raw(min(1.0, max(0.0, m + d)), regret) for d in (0.0, left, -left)] for m in means]
            squares = [(off - raw) ** 2 for raw, *both in raws for off in both]
            if math.fsum(squares) / len(squares) <= (self.play.tolerance / 2) ** 2:
                return count
        return self.full

    def undecided(self, arms: Mapping[str, Mapping[str, Group]]) -> set[str]:
        """The ids of the environments that need more episodes, given their arms so far."""
        return {name for name, own in arms.items() if not self.decided(list(_seen(own).values()), "hinted" in own)}

    def decided(self, seen: Sequence[Seen], paired: bool) -> bool:
        """Whether the returns on these seeds suffice; ``paired`` says whether both arms are played."""
        if not paired:
            returns = [unhinted for _, unhinted in seen if not math.isnan(unhinted)]
            return bool(returns) and min(returns) == max(returns)
        pairs = [(hinted, unhinted) for hinted, unhinted in seen if not math.isnan(hinted + unhinted)]
        return bool(pairs) and self._span(pairs) <= self.play.tolerance

    def weights(self, arms: Mapping[str, Group]) -> Weights | None:
        """The weight of each seed in the estimate; ``None`` when all seeds weigh the same."""
        seen = _seen(arms)
        looks = [look // self.play.plays_per_seed for look in self._looks]
        passed = [look for look in looks if look < len(seen)]
        if not passed or len(set(seen.values())) == 1:
            return None
        seeds, first = list(seen), passed[0]
        rng = random.Random(derive_seed(0, "allocation", *seeds))
        counts: Counter[int] = Counter(
            seeds[:first]
        )  # start with the order that was played: the rule did not stop it, so the counts are never empty
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
        """The raw reward at these means; for a reward that depends on more than means, the return instead."""
        if not self._reward.of_means:
            return solved
        return self._reward(Evidence("", Interval(regret), solved, (solved,), (min(1.0, max(0.0, solved)),)))


def _seen(arms: Mapping[str, Group]) -> dict[int, Seen]:
    """Seed -> mean returns of both arms, in order of play, including seeds that were lost to faults."""
    hinted, unhinted = (seed_means(arms[arm]) if arm in arms else {} for arm in ("hinted", "unhinted"))
    seeds = dict.fromkeys(episode.seed for group in arms.values() for episode in group.episodes)
    return {seed: (hinted.get(seed, math.nan), unhinted.get(seed, math.nan)) for seed in seeds}


def _spread(values: Sequence[float], pseudo: tuple[float, float]) -> Interval:
    """Mean of ``values`` and one standard error on either side, with two pseudo-observations of weight 1/2 added."""
    n = len(values) + 1
    mean = (math.fsum(values) + sum(pseudo) / 2) / n
    square = (math.fsum(value**2 for value in values) + sum(value**2 for value in pseudo) / 2) / n
    error = math.sqrt(max(0.0, square - mean**2) / n)
    return Interval(mean, mean - error, mean + error)
