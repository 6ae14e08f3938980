"""The ledger of designs that wait for their reward from cycle t to t + delay, while returns are collected.

A checkpoint contains all waiting designs with their tokens. In the run's last cycle all of them are paid.
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
    """A design that waits for its reward, with the evidence about its environment so far."""

    design: Design
    evidence: Evidence | None
    """``None`` for a rejected design, which is trained on with a fixed reward."""


@dataclasses.dataclass(frozen=True, slots=True)
class Observed:
    """The observations of one environment in one cycle."""

    unhinted_return: float
    """Mean return of its valid unhinted plays; NaN if there are none."""
    hung: bool = False
    """Whether a call of the program ran into its time limit."""
    failing: bool = False
    """Whether the program spoilt so many plays that it left the pool."""
    seeds: tuple[float, ...] = ()
    """Mean unhinted return on each seed that was played."""
    outcomes: tuple[Outcome, ...] = ()
    """The outcome of every valid play, in all arms."""


class Ledger:
    """The waiting designs, by the cycle in which they are due.

    Args:
        delay: cycles between a design and its reward.
        window: number of cycles whose returns count (k). Later returns of an environment that stays in play do not.
    """

    def __init__(self, delay: int, window: int) -> None:
        self.delay, self.window = delay, window
        self._held: list[Held] = []

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, design: Design, evidence: Evidence | None) -> None:
        """Add a design in the cycle in which it was written."""
        self._held.append(Held(design, evidence))

    def observe(self, cycle: int, environment_id: str, seen: Observed) -> None:
        """Add a cycle's observations of an environment to its evidence, if the cycle lies in its window.

        A mean return of NaN (faults left no valid episode) is not added.
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
        """The evidence about each environment for which ``cycle`` is in its window, but not the first of the window."""
        known: dict[str, Evidence] = {}
        for held in self._held:
            design = held.design
            if held.evidence is None or design.environment_id is None:
                continue
            if design.cycle < cycle < design.cycle + self.window:
                known[design.environment_id] = held.evidence
        return known

    def due(self, cycle: int, *, flush: bool = False) -> list[Held]:
        """Remove and return the designs that are due at ``cycle``; all designs with ``flush``."""
        due = [held for held in self._held if flush or held.design.cycle + self.delay <= cycle]
        self._held = [held for held in self._held if held not in due]
        return due

    def state_dict(self) -> dict[str, Any]:
        """The waiting designs, as plain data."""
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
        """The number of waiting designs."""
        return {"ledger/held": float(len(self._held))}
