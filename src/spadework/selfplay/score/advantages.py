"""How an episode's return becomes its advantage (method section 6): ``AdvantageEstimator`` and the package's own."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Sequence

from spadework.config import AgentSection
from spadework.config.play import PerSeedSettings
from spadework.parts import Part, Seam, check_tables

EPSILON = 1e-8
SPREAD = 1e-6
"""A group whose standard deviation is below this carries no gradient."""


class AdvantageEstimator(Part, ABC):
    """Turns the returns of a group, the episodes of one environment and arm in one cycle, into advantages."""

    @abstractmethod
    def __call__(self, returns: Sequence[float], seeds: Sequence[int]) -> Sequence[float]:
        """The advantage of each episode; all 0 for a group that carries no gradient.

        Args:
            returns: Of the group's valid episodes.
            seeds: Which seed each of them was reset with; several share one where ``play.plays_per_seed`` is above 1.
        """


class ZScore(AdvantageEstimator):
    """A_i = (R_i - mean R) / (std R + 1e-8), population std: GRPO, as in the paper."""

    def __call__(self, returns: Sequence[float], seeds: Sequence[int]) -> Sequence[float]:
        """All 0 without spread."""
        centred, std = _centred(returns)
        return [value / (std + EPSILON) for value in centred]


class MeanOnly(AdvantageEstimator):
    """A_i = R_i - mean R: Dr. GRPO, which does not lift groups of little spread to the weight of the others."""

    def __call__(self, returns: Sequence[float], seeds: Sequence[int]) -> Sequence[float]:
        """All 0 without spread."""
        return _centred(returns)[0]


class LeaveOneOut(AdvantageEstimator):
    """A_i = R_i - mean of the other returns: RLOO, whose baseline does not depend on the episode itself."""

    def __call__(self, returns: Sequence[float], seeds: Sequence[int]) -> Sequence[float]:
        """All 0 without spread."""
        n = len(returns)
        return [value * n / (n - 1) if n > 1 else 0.0 for value in _centred(returns)[0]]


class PerSeed(AdvantageEstimator):
    """Another estimator, applied to the plays of each seed alone.

    The baseline is then that of the very instance that was played. Over a whole group a play's advantage is mostly
    which instance it was dealt, where instances of one environment differ much in difficulty.
    """

    Settings = PerSeedSettings
    settings: PerSeedSettings

    def __call__(self, returns: Sequence[float], seeds: Sequence[int]) -> Sequence[float]:
        """0 for the plays of a seed without spread, and for one that was played once."""
        plays: dict[int, list[int]] = defaultdict(list)
        for index, seed in enumerate(seeds):
            plays[seed].append(index)
        within = _BASIC[self.settings.within](None)
        advantages = [0.0] * len(returns)
        for indices in plays.values():
            own = within([returns[index] for index in indices], [seeds[index] for index in indices])
            for index, advantage in zip(indices, own, strict=True):
                advantages[index] = advantage
        return advantages


_BASIC: dict[str, type[AdvantageEstimator]] = {"z_score": ZScore, "mean": MeanOnly, "leave_one_out": LeaveOneOut}

ADVANTAGES: Seam[AdvantageEstimator] = Seam(
    kind="estimator",
    key="agent.advantage",
    base=AdvantageEstimator,
    group="spadework.advantages",
    own={**_BASIC, "per_seed": PerSeed},
)


def build_advantage(section: AgentSection, where: str = "config") -> AdvantageEstimator:
    """The estimator that ``agent.advantage`` names. Raises ``ConfigError``; ``where`` is the config's origin."""
    check_tables(section, "agent", (section.advantage,), where)
    return ADVANTAGES.build(section.advantage, section, where)


def _centred(returns: Sequence[float]) -> tuple[list[float], float]:
    """Each return minus the mean, and the population standard deviation; zeros for a group without spread."""
    if len(returns) < 2:
        return [0.0] * len(returns), 0.0
    mean = math.fsum(returns) / len(returns)
    std = math.sqrt(math.fsum((value - mean) ** 2 for value in returns) / len(returns))
    if std < SPREAD:
        return [0.0] * len(returns), 0.0
    return [value - mean for value in returns], std
