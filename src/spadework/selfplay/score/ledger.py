"""Designs that wait for their reward: held back from cycle t to t + delay, while the window's returns come in.

What is held is in the checkpoint, tokens and all; the last cycle flushes it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from spadework.selfplay.records import Evidence, Outcome, design_from_dict, evidence_from_dict
from spadework.types import Design, plain


@dataclasses.dataclass(frozen=True, slots=True)
class Held:
    """One design that waits, and what is known of its environment so far."""

    design: Design
    evidence: Evidence | None
    """``None`` for a rejected design that trains with a reward of its own."""


@dataclasses.dataclass(frozen=True, slots=True)
class Observed:
    """What one cycle showed of one environment."""

    unhinted_return: float
    """Mean over its valid unhinted plays; NaN without any."""
    hung: bool = False
    """Whether a call of the program ran into its time limit."""
    failing: bool = False
    """Whether the program spoilt so many plays that it left the pool."""
    seeds: tuple[float, ...] = ()
    """Mean unhinted return of each seed that was played."""
    outcomes: tuple[Outcome, ...] = ()
    """Every valid play, of all arms."""


class Ledger:
    """The designs of a few cycles, by the cycle in which they are due.

    Args:
        delay: cycles between a design and its reward.
        window: cycles whose returns count (k); later ones of an environment that stays in play do not.
    """

    def __init__(self, delay: int, window: int) -> None:
        self.delay, self.window = delay, window
        self._held: list[Held] = []

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, design: Design, evidence: Evidence | None) -> None:
        """Take in a design at its own cycle."""
        self._held.append(Held(design, evidence))

    def observe(self, cycle: int, environment_id: str, seen: Observed) -> None:
        """Add what a cycle showed of an environment to its window, where the cycle is in it.

        A mean return of NaN (faults left no episode) adds none.
        """
        for index, held in enumerate(self._held):
            if held.evidence is None or held.design.environment_id != environment_id:
                continue
            if cycle >= held.design.cycle + self.window:
                continue
            known = held.evidence
            evidence = dataclasses.replace(
                known,
                window=known.window if math.isnan(seen.unhinted_return) else (*known.window, seen.unhinted_return),
                seeds=(*known.seeds, *seen.seeds),
                outcomes=(*known.outcomes, *seen.outcomes),
                hung=known.hung or seen.hung,
                failing=known.failing or seen.failing,
            )
            self._held[index] = dataclasses.replace(held, evidence=evidence)

    def known(self, cycle: int) -> dict[str, Evidence]:
        """What is known of each environment that is in a later cycle of its window at ``cycle``."""
        return {
            held.design.environment_id: held.evidence
            for held in self._held
            if held.evidence is not None and held.design.environment_id is not None
            if held.design.cycle < cycle < held.design.cycle + self.window
        }

    def due(self, cycle: int, *, flush: bool = False) -> list[Held]:
        """Take out what is due at ``cycle``, or everything."""
        due = [held for held in self._held if flush or held.design.cycle + self.delay <= cycle]
        self._held = [held for held in self._held if held not in due]
        return due

    def state_dict(self) -> dict[str, Any]:
        """What is held, as plain data."""
        return {"held": [plain(held) for held in self._held]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from ``state_dict``."""
        self._held = [
            Held(
                design_from_dict(row["design"]),
                evidence_from_dict(row["evidence"]) if row["evidence"] else None,
            )
            for row in state["held"]
        ]

    def metrics(self) -> dict[str, float]:
        """How many designs wait."""
        return {"ledger/held": float(len(self._held))}
