"""The metrics of a cycle, by name; docs/metrics.md says what each is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from spadework.selfplay.score.scoring import HUNG, CycleScores
from spadework.selfplay.score.seeds import Estimate
from spadework.types import CONTROL_ARMS, LEARNABLE, Design, Episode, Group

Origin = Literal["anchor", "designed", "fixed"]
"""Whether an environment is an anchor, one of the run's own designs, or one drawn from a fixed pool."""


def summarise(
    designs: Sequence[Design],
    episodes: Sequence[Episode],
    groups: Sequence[Group],
    scored: CycleScores,
    origins: Mapping[str, Origin],
) -> dict[str, float]:
    """All metrics of one cycle that play and design give; a mean over nothing is left out.

    ``origins`` says where environments come from, by id.
    """
    hinted = {g.environment_id: g for g in groups if g.arm == "hinted"}
    seen = scored.estimates
    played = [episode for episode in episodes if episode.valid and episode.arm not in CONTROL_ARMS]
    rates = [one.unhinted_win_rate for one in seen.values()]
    known = [rate for rate in rates if not math.isnan(rate)]
    sampled = sum(s.sampled for e in episodes for s in e.segments) + sum(s.sampled for d in designs for s in d.segments)
    metrics = {
        "agent/unhinted_return": _mean(one.unhinted_return for one in seen.values()),
        "agent/unhinted_win_rate": _mean(rates),
        "agent/hinted_win_rate": _mean(one.hinted_win_rate for one in seen.values()),
        **_by_origin(seen, origins),
        "agent/turns": _mean(float(len(e.turns)) for e in played),
        "agent/truncated_share": _mean(float(e.ending != "terminated") for e in played),
        "agent/malformed_share": _mean(float(turn.malformed) for e in played for turn in e.turns),
        "designer/regret": _mean(one.regret.mean for one in seen.values()),
        "designer/regret_low": _mean(one.regret.low for one in seen.values()),
        "designer/regret_high": _mean(one.regret.high for one in seen.values()),
        "designer/raw_reward": _mean(score.raw for score in scored.scores),
        "designer/valid_share": _mean(float(d.accepted) for d in designs if d.fault is None),
        "designer/ran_share": _mean(float(d.ran) for d in designs if d.fault is None),
        "designer/mended_share": _mean(float(d.repaired) for d in designs),
        "designer/hung_share": _mean(float(_hung(d)) for d in designs),
        "designer/faulted_share": _mean(float(d.fault is not None) for d in designs),
        "pool/learnable_share": _mean(float(LEARNABLE[0] <= rate <= LEARNABLE[1]) for rate in known),
        "pool/reward_levels": _mean(
            float(len({round(value, 6) for value in g.returns})) for g in groups if g.arm == "unhinted" and g.valid
        ),
        "pool/seed_spread": _mean(one.seed_spread for one in seen.values()),
        **_controls(groups, hinted),
        **scored.metrics,
    }
    counts = {
        "designer/attempts": len(designs),
        "designer/accepted": sum(d.accepted for d in designs),
        "agent/episodes": len(episodes),
        "tokens/sampled": sampled,
        "faults/program": sum(e.fault is not None and e.fault.kind == "program" for e in episodes),
        "faults/other": sum(e.fault is not None and e.fault.kind != "program" for e in episodes)
        + sum(d.fault is not None for d in designs),
    }
    kept = {name: value for name, value in metrics.items() if not math.isnan(value)}
    return kept | {name: float(value) for name, value in counts.items()}


def _by_origin(seen: Mapping[str, Estimate], origins: Mapping[str, Origin]) -> dict[str, float]:
    """How the environments of each origin are played: what a mix of several says of none."""
    metrics = {}
    for origin in ("anchor", "designed", "fixed"):
        own = [one for name, one in seen.items() if origins.get(name) == origin]
        metrics[f"agent/{origin}_return"] = _mean(one.unhinted_return for one in own)
        if origin != "anchor":
            metrics[f"agent/{origin}_win_rate"] = _mean(one.unhinted_win_rate for one in own)
            metrics[f"agent/{origin}_hinted_win_rate"] = _mean(one.hinted_win_rate for one in own)
    return metrics


def _hung(design: Design) -> bool:
    """Whether the program ran into a time limit, while it was checked."""
    return any(finding.partition(" ")[0].rstrip(":") == HUNG for finding in design.findings)


def _controls(groups: Sequence[Group], hinted: Mapping[str, Group]) -> dict[str, float]:
    """Win rate of each control arm, and the regret of the hinted arm against it: what the hint adds to that text."""
    metrics = {}
    for arm in CONTROL_ARMS:
        own = [group for group in groups if group.arm == arm]
        regrets = [hinted[g.environment_id].mean_return - g.mean_return for g in own if g.environment_id in hinted]
        metrics[f"control/{arm}_win_rate"] = _mean(group.win_rate for group in own)
        metrics[f"control/{arm}_regret"] = _mean(regrets)
    return metrics


def _mean(values: Iterable[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return math.fsum(known) / len(known) if known else math.nan
