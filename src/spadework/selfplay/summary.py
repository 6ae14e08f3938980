"""The metrics of a cycle, by name; docs/metrics.md says what each is."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from spadework.types import Design, Episode, Group

LEARNABLE = (0.2, 0.8)
"""Win rates between these make an environment learnable (method section 9)."""


class Paid(Protocol):
    """A scored design."""

    @property
    def raw(self) -> float:
        """Its raw reward."""
        ...


def summarise(
    designs: Sequence[Design],
    episodes: Sequence[Episode],
    groups: Sequence[Group],
    scores: Sequence[Paid],
    anchors: Collection[str],
) -> dict[str, float]:
    """All metrics of one cycle that play and design give; a mean over nothing is left out."""
    unhinted = {g.environment_id: g for g in groups if g.arm == "unhinted"}
    hinted = {g.environment_id: g for g in groups if g.arm == "hinted"}
    regrets = [hinted[name].mean_return - unhinted[name].mean_return for name in hinted if name in unhinted]
    rates = [group.win_rate for group in unhinted.values()]
    sampled = sum(s.sampled for e in episodes for s in e.segments) + sum(s.sampled for d in designs for s in d.segments)
    metrics = {
        "agent/unhinted_return": _mean(e.return_ for g in unhinted.values() for e in g.valid),
        "agent/unhinted_win_rate": _mean(rates),
        "agent/hinted_win_rate": _mean(group.win_rate for group in hinted.values()),
        "agent/anchor_return": _mean(g.mean_return for name, g in unhinted.items() if name in anchors),
        "agent/turns": _mean(float(len(e.turns)) for e in episodes if e.valid),
        "agent/truncated_share": _mean(float(e.ending != "terminated") for e in episodes if e.valid),
        "designer/regret": _mean(regrets),
        "designer/raw_reward": _mean(score.raw for score in scores),
        "designer/valid_share": _mean(float(d.accepted) for d in designs if d.fault is None),
        "designer/ran_share": _mean(float(d.ran) for d in designs if d.fault is None),
        "pool/learnable_share": _mean(float(LEARNABLE[0] <= rate <= LEARNABLE[1]) for rate in rates),
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


def _mean(values: Iterable[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return math.fsum(known) / len(known) if known else math.nan
