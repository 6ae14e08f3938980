"""What the designer is paid (method section 7): raw signals, centring per skill, scale between the roles.

Each raw signal is a pure function of the evidence that play gave; floors come before centring, so that a hopeless
environment cannot be paid for being less bad than its peers' average.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from spadework.config import RewardSection
from spadework.selfplay.records import Evidence


def plateau(solve_rate: float, low: float = 0.4, high: float = 0.6, slope: float = 0.25) -> float:
    """1 between ``low`` and ``high``, falling linearly to 0 over ``slope`` on either side."""
    distance = max(low - solve_rate, solve_rate - high, 0.0)
    return max(0.0, 1.0 - distance / slope)


def floored_regret(evidence: Evidence) -> float:
    """max(0, hinted - unhinted)."""
    return max(0.0, evidence.regret)


def blend(evidence: Evidence, settings: RewardSection) -> float:
    """0.6 plateau(w) + 0.4 clip(regret / 0.15, 0, 1): the deployed reward."""
    share = settings.blend_plateau
    regret = min(1.0, max(0.0, evidence.regret / settings.regret_scale))
    return share * _plateau(evidence, settings) + (1.0 - share) * regret


def variance(evidence: Evidence) -> float:
    """R(1 - R) of the unhinted mean return: "learnability"."""
    return evidence.solve_rate * (1.0 - evidence.solve_rate)


def progress(window: Sequence[float], kind: str) -> float:
    """``slope``: least-squares slope of the window a cycle; ``halves``: mean of its late half minus the early one.

    0 for fewer than two cycles.
    """
    n = len(window)
    if n < 2:
        return 0.0
    if kind == "halves":
        half = n // 2
        return math.fsum(window[-half:]) / half - math.fsum(window[:half]) / half
    centre = (n - 1) / 2
    over = math.fsum((i - centre) * value for i, value in enumerate(window))
    return over / math.fsum((i - centre) ** 2 for i in range(n))


class SkillAverages:
    """Two exponential averages of the unhinted return a skill; the first value initialises both.

    mu <- (1 - gamma) mu + gamma R. Only the slow one is paid against; the fast one is logged.
    """

    def __init__(self, gamma_fast: float, gamma_slow: float) -> None:
        self.gamma_fast, self.gamma_slow = gamma_fast, gamma_slow
        self.fast: dict[str, float] = {}
        self.slow: dict[str, float] = {}

    def update(self, skill: str, value: float) -> None:
        """Take in one mean return; NaN (no valid episode) is ignored."""
        if math.isnan(value):
            return
        for averages, gamma in ((self.fast, self.gamma_fast), (self.slow, self.gamma_slow)):
            averages[skill] = (1.0 - gamma) * averages.get(skill, value) + gamma * value

    def learning_potential(self, evidence: Evidence) -> float:
        """|R - mu_slow(skill)|; 0 for a skill without history."""
        return abs(evidence.unhinted_return - self.slow.get(evidence.skill, evidence.unhinted_return))

    def state_dict(self) -> dict[str, Any]:
        """Both averages, as plain data."""
        return {"fast": dict(self.fast), "slow": dict(self.slow)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from ``state_dict``."""
        self.fast, self.slow = dict(state["fast"]), dict(state["slow"])


def raw_reward(evidence: Evidence, settings: RewardSection, averages: SkillAverages) -> float | None:
    """The raw signal by ``settings.type``; ``None`` when faults left nothing to judge it by.

    A program that hung takes ``settings.timeout``, a mended one 0. ``settings.novelty`` adds to all others.
    """
    if evidence.hung:
        return settings.timeout
    if evidence.repaired:
        return 0.0
    needed = {"regret": evidence.regret, "blend": evidence.regret, "learning_potential": evidence.unhinted_return}
    if math.isnan(evidence.solve_rate) or math.isnan(needed.get(settings.type, 0.0)):
        return None
    signals = {
        "regret": lambda: floored_regret(evidence),
        "blend": lambda: blend(evidence, settings),
        "plateau": lambda: _plateau(evidence, settings),
        "learning_potential": lambda: averages.learning_potential(evidence),
        "micro_lp": lambda: progress(evidence.window, settings.micro_lp),
        "variance": lambda: variance(evidence),
    }
    return signals[settings.type]() + settings.novelty * (evidence.novelty or 0.0)


def _plateau(evidence: Evidence, settings: RewardSection) -> float:
    """Of the solve rate; with ``per_seed`` the mean over seeds of that of each seed's own mean return.

    Half of the seeds solved always and half of them never is then worth 0, not 1.
    """
    rates = [min(1.0, max(0.0, value)) for value in evidence.seeds] if settings.per_seed else [evidence.solve_rate]
    ends = (settings.plateau_low, settings.plateau_high, settings.plateau_slope)
    return math.fsum(plateau(rate, *ends) for rate in rates) / len(rates)


def centre(raws: Sequence[float], skills: Sequence[Hashable]) -> tuple[float, ...]:
    """Each raw reward minus the mean of its skill; a skill with one design is centred on the whole cycle."""
    members: dict[Hashable, list[float]] = defaultdict(list)
    for raw, skill in zip(raws, skills, strict=True):
        members[skill].append(raw)
    whole = math.fsum(raws) / len(raws) if raws else 0.0
    means = {skill: math.fsum(own) / len(own) if len(own) > 1 else whole for skill, own in members.items()}
    return tuple(raw - means[skill] for raw, skill in zip(raws, skills, strict=True))


def role_scale(agent_rows: int, designer_rows: int, every: int, settings: RewardSection) -> float:
    """min(50, N_agent / N_designer x k), or 1 when turned off, times ``role_weight``: weighs few designs against many
    episodes.
    """
    if not settings.role_scaling or not agent_rows or not designer_rows:
        return settings.role_weight
    return settings.role_weight * min(settings.max_role_scale, agent_rows / designer_rows * every)
