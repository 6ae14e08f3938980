"""The method's rewards for designs (section 7), each a pure function of the evidence from play.

A reward with a floor applies it before centring. Otherwise a hopeless environment could earn a positive reward for
being less bad than the average of its peers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from spadework.config import RewardSection
from spadework.config.rewards import (
    BlendSettings,
    LearningPotentialSettings,
    MicroLpSettings,
    PlateauSettings,
    SpreadSettings,
)
from spadework.parts import NoSettings, Seam, check_tables
from spadework.selfplay.records import Evidence
from spadework.selfplay.score.reward import DesignerReward
from spadework.selfplay.score.skills import moving_average


def plateau(solve_rate: float, low: float = 0.4, high: float = 0.6, slope: float = 0.25) -> float:
    """1 between ``low`` and ``high``, falling linearly to 0 over ``slope`` on either side."""
    distance = max(low - solve_rate, solve_rate - high, 0.0)
    return max(0.0, 1.0 - distance / slope)


def progress(window: Sequence[float], form: str) -> float:
    """``slope``: least-squares slope of the window a cycle; ``halves``: mean of its late half minus the early one.

    The middle cycle of an odd window is in neither half. 0 for fewer than two cycles.
    """
    n = len(window)
    if n < 2:
        return 0.0
    if form == "halves":
        half = n // 2
        return math.fsum(window[-half:]) / half - math.fsum(window[:half]) / half
    centre = (n - 1) / 2
    over = math.fsum((i - centre) * value for i, value in enumerate(window))
    return over / math.fsum((i - centre) ** 2 for i in range(n))


class Regret(DesignerReward):
    """max(0, hinted - unhinted) return, of the design cycle."""

    of_means = True

    def __call__(self, evidence: Evidence) -> float:
        """NaN where an arm was not played."""
        return _clip(evidence.regret, 0.0, math.inf)


class Plateau(DesignerReward):
    """``plateau`` of the solve rate.

    With ``per_seed`` it is the mean over seeds of the plateau of each seed's own mean return: half of the seeds solved
    always and half of them never is then worth 0, not 1.
    """

    Settings = PlateauSettings
    settings: PlateauSettings
    of_means = True

    def __call__(self, evidence: Evidence) -> float:
        """NaN without any valid play."""
        band = (self.settings.low, self.settings.high, self.settings.slope)
        if not self.settings.per_seed:
            rate = evidence.solve_rate
            return rate if math.isnan(rate) else plateau(rate, *band)
        if not evidence.seeds:
            return math.nan
        return math.fsum(plateau(_clip(rate, 0.0, 1.0), *band) for rate in evidence.seeds) / len(evidence.seeds)


class Blend(DesignerReward):
    """0.6 plateau(w) + 0.4 clip(regret / 0.15, 0, 1): the reward of the paper's main runs."""

    Settings = BlendSettings
    settings: BlendSettings
    of_means = True

    def __init__(self, settings: BlendSettings, plateau: DesignerReward) -> None:
        super().__init__(settings)
        self._plateau = plateau

    def __call__(self, evidence: Evidence) -> float:
        """NaN where an arm was not played."""
        share = self.settings.plateau_share
        regret = _clip(evidence.regret / self.settings.regret_scale, 0.0, 1.0)
        return share * self._plateau(evidence) + (1.0 - share) * regret


class LearningPotential(DesignerReward):
    """|R - mu_slow|: how far the environment's return lies from the slow average of its skill (Eq. 6)."""

    Settings = LearningPotentialSettings
    settings: LearningPotentialSettings

    def __call__(self, evidence: Evidence) -> float:
        """NaN without any valid play."""
        return abs(evidence.window_return - moving_average(evidence.skill_returns, self.settings.gamma_slow))


class MicroLp(DesignerReward):
    """``progress`` of the agent in the environment within the window; may be negative."""

    Settings = MicroLpSettings
    settings: MicroLpSettings

    def __call__(self, evidence: Evidence) -> float:
        """NaN without any valid play; 0 where a single cycle had one."""
        return progress(evidence.window, self.settings.form) if evidence.window else math.nan


class Variance(DesignerReward):
    """R(1 - R) of the solve rate: "learnability"."""

    of_means = True

    def __call__(self, evidence: Evidence) -> float:
        """NaN without any valid play."""
        return evidence.solve_rate * (1.0 - evidence.solve_rate)


class Spread(DesignerReward):
    """exp(-(var - 0.25)^2 / 0.02), var being the variance of single unhinted returns: a bonus for what varies most."""

    Settings = SpreadSettings
    settings: SpreadSettings

    def __call__(self, evidence: Evidence) -> float:
        """NaN without any valid play; 0 for a single one, which says nothing about spread."""
        returns = evidence.returns()
        if len(returns) < 2:
            return 0.0 if returns else math.nan
        mean = math.fsum(returns) / len(returns)
        variance = math.fsum((value - mean) ** 2 for value in returns) / len(returns)
        return math.exp(-((variance - self.settings.target) ** 2) / self.settings.width)


class WeightedSum(DesignerReward):
    """The sum of several rewards, each times its weight; NaN where one of them is."""

    def __init__(self, parts: Sequence[tuple[DesignerReward, float]]) -> None:
        super().__init__(NoSettings())
        self._parts = parts

    def __call__(self, evidence: Evidence) -> float:
        """The weighted sum of all parts."""
        return math.fsum(weight * part(evidence) for part, weight in self._parts)


REWARDS: Seam[DesignerReward] = Seam(
    kind="reward",
    key="reward.type",
    base=DesignerReward,
    group="spadework.rewards",
    own={
        "regret": Regret,
        "blend": Blend,
        "plateau": Plateau,
        "learning_potential": LearningPotential,
        "micro_lp": MicroLp,
        "variance": Variance,
        "spread": Spread,
        "sum": WeightedSum,
    },
)
"""``build_reward`` makes ``blend`` and ``sum`` itself, since they are made of other rewards."""


def build_reward(section: RewardSection, where: str = "config") -> DesignerReward:
    """The reward that ``[reward]`` names. Raises ``ConfigError``; ``where`` is the config's origin."""
    check_tables(section, "reward", section.parts, where)
    if section.type != "sum":
        return _single(section, section.type, where)
    return WeightedSum([(_single(section, name, where), weight) for name, weight in section.sum.items()])


def _single(section: RewardSection, name: str, where: str) -> DesignerReward:
    if name == "blend":
        return Blend(section.blend, Plateau(section.plateau))
    return REWARDS.build(name, section, where)


def _clip(value: float, low: float, high: float) -> float:
    """``value`` within the bounds; NaN stays NaN, which ``min`` and ``max`` alone would turn into a bound."""
    return value if math.isnan(value) else min(high, max(low, value))
