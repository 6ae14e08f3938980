"""From raw rewards to the designer's rewards (method section 7): exceptions, centring, scale between the roles."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence

from spadework.config import RewardSection
from spadework.errors import RunError
from spadework.selfplay.records import Evidence
from spadework.selfplay.score.reward import DesignerReward


def raw_reward(evidence: Evidence, reward: DesignerReward, settings: RewardSection) -> float | None:
    """The raw reward of one design; ``None`` when faults left too little evidence.

    A program that hung is paid ``settings.timeout`` (under the rewards of ``settings.timeout_under``), a mended one 0.
    ``settings.novelty`` adds to all others.

    Raises:
        RunError: The reward gave something other than a finite number or NaN.
    """
    fined = settings.parts if settings.timeout_under is None else settings.timeout_under
    if evidence.hung and any(name in fined for name in settings.parts):
        return settings.timeout
    if evidence.repaired:
        return 0.0
    if math.isnan(evidence.solve_rate):
        return None
    raw = reward(evidence)
    if not isinstance(raw, int | float) or math.isinf(raw):
        raise RunError(
            f"reward.type = {settings.type!r} gave {raw!r} for an environment of the skill {evidence.skill!r}: a raw "
            "reward is a finite number, or NaN where the evidence does not suffice"
        )
    return None if math.isnan(raw) else raw + settings.novelty * (evidence.novelty or 0.0)


def hint_reward(evidence: Evidence) -> float | None:
    """The raw reward of a hint: its environment's regret, floored at 0; ``None`` where that is unknown.

    With the program given, the unhinted plays are the same whatever the hint says. So a plateau or a bonus of
    ``reward.type`` would be noise to it. A program that hung or was mended says nothing about its hint.
    """
    if evidence.hung or evidence.repaired or math.isnan(evidence.regret):
        return None
    return max(0.0, evidence.regret)


def centre(raws: Sequence[float], skills: Sequence[Hashable], below: int = 2) -> tuple[float, ...]:
    """Each raw reward of a design cycle minus the mean of its skill.

    A skill with fewer than ``below`` designs is centred on the mean of the whole design cycle.
    """
    members: dict[Hashable, list[float]] = defaultdict(list)
    for raw, skill in zip(raws, skills, strict=True):
        members[skill].append(raw)
    whole = math.fsum(raws) / len(raws) if raws else 0.0
    means = {skill: math.fsum(own) / len(own) if len(own) >= below else whole for skill, own in members.items()}
    return tuple(raw - means[skill] for raw, skill in zip(raws, skills, strict=True))


def role_scale(agent_samples: int, designer_samples: int, every: int, settings: RewardSection) -> float:
    """min(50, N_agent / N_designer x k), or 1 when turned off, times ``role_weight``: weighs few designs against many
    episodes.

    ``agent_samples`` counts every valid episode of the arms that train, whether its group has a gradient or not, as
    the authors do: otherwise the designer would lose weight as the agent masters or fails its environments.
    """
    if not settings.role_scaling or not agent_samples or not designer_samples:
        return settings.role_weight
    return settings.role_weight * min(settings.max_role_scale, agent_samples / designer_samples * every)
