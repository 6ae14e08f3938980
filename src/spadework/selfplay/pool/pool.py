"""The environments in play: one in each designer slot, and anchors that stay for the whole run."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from spadework.runs.cycle_record import EventRow
from spadework.types import Environment

Entry = Literal["anchor", "designed", "bundled", "drawn", "replayed", "climbed"]
"""How an environment came into play: as an anchor, from the designer, as a bundled stand-in, from a fixed pool, from
memory once more, or as a design's next level."""
Exit = Literal["replaced", "climbed", "mastered", "hopeless", "failing"]
"""Why an environment left play: another environment or its own next level took its slot, or it was retired."""


class Pool:
    """The slots that designs fill, and the anchors.

    A slot whose attempts all failed keeps the environment that it had, so that there is always something to play.
    """

    def __init__(self, slots: int, anchors: Iterable[Environment] = ()) -> None:
        self.anchors = tuple(anchors)
        self._slots: list[Environment | None] = [None] * slots
        self._fresh: set[str] = {environment.id for environment in self.anchors}
        self._recorded: set[str] = set()
        """Ids of the anchors whose entry the run has already recorded."""
        self._events: list[EventRow] = []

    @property
    def environments(self) -> tuple[Environment, ...]:
        """All environments in play: anchors, then slots in order."""
        return (*self.anchors, *(environment for environment in self._slots if environment is not None))

    def at(self, slot: int) -> Environment | None:
        """The environment of a slot."""
        return self._slots[slot]

    @property
    def slots(self) -> int:
        """The number of slots, without the anchors."""
        return len(self._slots)

    def is_fresh(self, environment: Environment) -> bool:
        """Whether the environment has not been played yet, so that its hinted arm is due."""
        return environment.id in self._fresh

    def fill(self, slot: int, environment: Environment, why: Entry) -> None:
        """Put a new environment into a slot. Its hinted arm is due, unless it came without a hint."""
        self._leave(slot, "climbed" if why == "climbed" else "replaced")
        self._slots[slot] = environment
        self._events.append(EventRow(environment.id, slot, True, why))
        if environment.hint:
            self._fresh.add(environment.id)

    def vacate(self, slot: int) -> None:
        """Empty a slot for another environment."""
        self._leave(slot, "replaced")

    def retire(self, reasons: Mapping[str, Exit]) -> None:
        """Empty the slots of these environments, each with its reason; anchors stay."""
        for slot, environment in enumerate(self._slots):
            if environment is not None and environment.id in reasons:
                self._leave(slot, reasons[environment.id])

    def _leave(self, slot: int, why: Exit) -> None:
        environment = self._slots[slot]
        if environment is not None:
            self._events.append(EventRow(environment.id, slot, False, why))
            self._slots[slot] = None

    def enter_anchors(self, cycle: int) -> list[Environment]:
        """The anchors that enter at ``cycle``: all anchors of a new run, or those that a changed config has added."""
        entering = [dataclasses.replace(one, cycle=cycle) for one in self.anchors if one.id not in self._recorded]
        self._recorded |= {one.id for one in entering}
        self._events += [EventRow(one.id, None, True, "anchor") for one in entering]
        return entering

    def take_events(self) -> list[EventRow]:
        """The entries and exits since the last call."""
        events, self._events = self._events, []
        return events

    def mark_played(self) -> None:
        """Mark all environments as played at the end of a cycle, so that none is fresh."""
        self._fresh.clear()

    def state_dict(self) -> dict[str, Any]:
        """Slots and freshness as plain data; anchors come from the config."""
        return {
            "slots": [None if e is None else dataclasses.asdict(e) for e in self._slots],
            "fresh": sorted(self._fresh),
            "recorded": sorted(self._recorded),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from ``state_dict``, which a changed config may have given other slots: the first ones count."""
        count = self.slots
        rows = [*state["slots"], *[None] * count][:count]
        self._slots = [
            None if row is None else Environment(**{**row, "parents": tuple(row["parents"])}) for row in rows
        ]
        self._fresh = set(state["fresh"])
        self._recorded = set(
            state.get("recorded", ())
        )  # runs of 0.1 did not store this, so their anchors enter once more

    def metrics(self) -> dict[str, float]:
        """The number of environments in play."""
        return {"pool/size": float(len(self.environments))}
