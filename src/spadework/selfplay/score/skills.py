"""The mean return of each skill over the scoring rounds, and its moving averages (method section 7, Eq. 4 and 5)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from spadework.selfplay.records import Evidence


class SkillAverages:
    """The mean return of each skill in every scoring round, in order.

    A scoring round is the designs of one design cycle, at the moment when they fall due. Only designed environments
    are in it: anchors, fillers, fixed and replayed environments say nothing about what the designer just wrote.
    """

    def __init__(self) -> None:
        self._rounds: dict[str, tuple[float, ...]] = {}

    def add_round(self, evidence: Iterable[Evidence]) -> None:
        """Add one round: for each skill, the mean over its environments of their mean return over the window.

        The order of the environments does not matter. Those without any valid play are left out.
        """
        returns: dict[str, list[float]] = defaultdict(list)
        for one in evidence:
            if not math.isnan(one.window_return):
                returns[one.skill].append(one.window_return)
        for skill, own in returns.items():
            self._rounds[skill] = (*self.of(skill), math.fsum(own) / len(own))

    def of(self, skill: str) -> tuple[float, ...]:
        """The mean returns of a skill in the rounds so far; empty when it was in none."""
        return self._rounds.get(skill, ())

    def state_dict(self) -> dict[str, Any]:
        """All rounds, as plain data."""
        return {"rounds": {skill: list(own) for skill, own in self._rounds.items()}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from ``state_dict``.

        A checkpoint of version 0.1 has no rounds: it stepped its averages once an environment, fillers included, which
        is no history of rounds. The skills begin anew.
        """
        self._rounds = {skill: tuple(own) for skill, own in state.get("rounds", {}).items()}

    def metrics(self, gamma_fast: float, gamma_slow: float) -> dict[str, float]:
        """For each skill, the fast average and its distance from the slow average."""
        found = {}
        for skill, own in sorted(self._rounds.items()):
            fast, slow = moving_average(own, gamma_fast), moving_average(own, gamma_slow)
            found[f"skill/{skill}/fast_average"] = fast
            found[f"skill/{skill}/learning_potential"] = abs(fast - slow)
        return found


def moving_average(values: Sequence[float], gamma: float) -> float:
    """mu_t = (1 - gamma) mu_(t-1) + gamma x_t, where the first value initialises mu; NaN of no values."""
    average = math.nan
    for value in values:
        average = value if math.isnan(average) else (1.0 - gamma) * average + gamma * value
    return average
