"""What a run says of itself when it ends: the first cycles against the last, each figure with its interval and its n.

Figures that stand beside each other cover the same environments. The two arms are compared on the environments that
entered in those cycles, in the cycle in which both arms were played, on the same seeds.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from spadework.intervals import Interval, mean_interval, share_interval
from spadework.runs.store import RunStore
from spadework.types import LEARNABLE

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ClosingRow:
    """One measure, over the first cycles and over the last; ``unit`` says what its n counts."""

    label: str
    unit: str
    first: Interval
    last: Interval


@dataclass(frozen=True, slots=True)
class Closing:
    """A run in a few rows; ``span`` is the number of cycles at either end."""

    span: int
    cycles: int
    rows: tuple[ClosingRow, ...]


def closing(store: RunStore, span: int = 3) -> Closing:
    """The closing table of a run; a measure that was never taken is left out."""
    cycles = 1 + max((cycle for points in store.metrics().values() for cycle, _ in points), default=-1)
    span = max(1, min(span, cycles // 2))
    facts = _Facts(store)
    ends = (range(span), range(max(span, cycles - span), cycles))
    rows = []
    for label, unit, measure in (
        ("anchors won without a hint", "episodes", facts.anchor_wins),
        ("new environments won without the hint", "episodes", facts.unhinted_wins),
        ("the same won with the hint", "episodes", facts.hinted_wins),
        ("regret of the same", "environments", facts.regret),
        ("designs that ran", "attempts", facts.ran),
        ("designs accepted", "attempts", facts.accepted),
        ("learnable (0.2 to 0.8) when they entered", "environments", facts.learnable),
        ("paid with a gradient", "designs", facts.with_gradient),
    ):
        first, last = (measure(range_) for range_ in ends)
        if first.n or last.n:
            rows.append(ClosingRow(label, unit, first, last))
    return Closing(span, cycles, tuple(rows))


class _Facts:
    """The tables of a run, read once, and the measures over some of its cycles."""

    def __init__(self, store: RunStore) -> None:
        self._designs = store.rows("designs")
        self._scores = store.rows("scores")
        self._regrets = store.rows("regrets")
        self._plays = store.rows("plays")
        entered = store.rows("environments")
        self._designed = {(row["id"], row["cycle"]) for row in entered if row["design_id"]}
        self._anchors = set(store.config.pool.anchors) and _anchor_ids(store)

    def anchor_wins(self, cycles: Collection[int]) -> Interval:
        """Over all unhinted episodes of the anchors."""
        return _wins([row for row in self._of(cycles, "unhinted") if row["environment_id"] in self._anchors])

    def unhinted_wins(self, cycles: Collection[int]) -> Interval:
        """Over the unhinted episodes of designed environments, in the cycle in which they entered."""
        return _wins(self._new(cycles, "unhinted"))

    def hinted_wins(self, cycles: Collection[int]) -> Interval:
        """The same with the hint."""
        return _wins(self._new(cycles, "hinted"))

    def regret(self, cycles: Collection[int]) -> Interval:
        """Mean over the same environments of their paired regret."""
        both = {(row["environment_id"], row["cycle"]) for row in self._new(cycles, "hinted")}
        found = [row["mean"] for row in self._regrets if (row["environment_id"], row["cycle"]) in both]
        return mean_interval([value for value in found if value is not None], -2.0, 2.0)

    def ran(self, cycles: Collection[int]) -> Interval:
        """Share of the attempts whose program could be constructed, reset and stepped."""
        attempts = self._attempts(cycles)
        return share_interval(sum(bool(row["ran"]) for row in attempts), len(attempts))

    def accepted(self, cycles: Collection[int]) -> Interval:
        """Share of the attempts that became environments."""
        attempts = self._attempts(cycles)
        return share_interval(sum(row["environment_id"] is not None for row in attempts), len(attempts))

    def learnable(self, cycles: Collection[int]) -> Interval:
        """Share of the designed environments that were learnable when they entered."""
        rates = [row["win_rate"] for row in self._new(cycles, "unhinted") if row["win_rate"] is not None]
        return share_interval(sum(LEARNABLE[0] <= rate <= LEARNABLE[1] for rate in rates), len(rates))

    def with_gradient(self, cycles: Collection[int]) -> Interval:
        """Share of the designs paid in those cycles whose advantage is not 0."""
        paid = [row for row in self._scores if row["cycle"] in cycles]
        return share_interval(sum(abs(row["advantage"] or 0.0) > 1e-12 for row in paid), len(paid))

    def _of(self, cycles: Collection[int], arm: str) -> list[Row]:
        return [row for row in self._plays if row["arm"] == arm and row["cycle"] in cycles]

    def _new(self, cycles: Collection[int], arm: str) -> list[Row]:
        return [row for row in self._of(cycles, arm) if (row["environment_id"], row["cycle"]) in self._designed]

    def _attempts(self, cycles: Collection[int]) -> list[Row]:
        """Attempts that say something of the designer: the machinery's faults are left out."""
        return [row for row in self._designs if row["cycle"] in cycles and not _fault(row)]


def _fault(row: Row) -> bool:
    return bool(row["fault"]) and json.loads(row["fault"]) is not None


def _anchor_ids(store: RunStore) -> set[str]:
    """The environments that entered as anchors. Runs of 0.1 have no events: there they are what no design wrote."""
    events = store.rows("events")
    if events:
        return {row["environment_id"] for row in events if row["why"] == "anchor"}
    return {row["id"] for row in store.rows("environments") if not row["design_id"] and row["cycle"] == 0}


def _wins(plays: Sequence[Row]) -> Interval:
    """Wins over valid episodes."""
    wins = tries = 0
    for row in plays:
        valid = row["episodes"] - row["faults"]
        if valid and row["win_rate"] is not None:
            wins += round(row["win_rate"] * valid)
            tries += valid
    return share_interval(wins, tries)
