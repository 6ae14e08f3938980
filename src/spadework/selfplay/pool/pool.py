"""The environments in play: one a designer's slot, and anchors that stay all through the run."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from spadework.types import Environment


class Pool:
    """Slots that designs fill, in order, and anchors.

    A slot whose attempts all failed keeps the environment that it had, so that there is always something to play.
    """

    def __init__(self, slots: int, anchors: Iterable[Environment] = ()) -> None:
        self.anchors = tuple(anchors)
        self._slots: list[Environment | None] = [None] * slots
        self._fresh: set[str] = {environment.id for environment in self.anchors}

    @property
    def environments(self) -> tuple[Environment, ...]:
        """All in play: anchors, then slots in order."""
        return (*self.anchors, *(environment for environment in self._slots if environment is not None))

    def at(self, slot: int) -> Environment | None:
        """The environment of a slot."""
        return self._slots[slot]

    @property
    def slots(self) -> int:
        """How many slots there are, beside the anchors."""
        return len(self._slots)

    def is_fresh(self, environment: Environment) -> bool:
        """Whether it has not been played yet: its hinted arm is due."""
        return environment.id in self._fresh

    def fill(self, slot: int, environment: Environment) -> None:
        """Put a new environment into a slot. Its hinted arm is due, unless it came without a hint."""
        self._slots[slot] = environment
        if environment.hint:
            self._fresh.add(environment.id)

    def vacate(self, slot: int) -> None:
        """Empty a slot."""
        self._slots[slot] = None

    def retire(self, names: Collection[str]) -> None:
        """Empty the slots of these environments; anchors stay."""
        self._slots = [None if slot is not None and slot.id in names else slot for slot in self._slots]

    def empty_slots(self) -> tuple[int, ...]:
        """Slots that nothing has filled yet, or whose environment was retired."""
        return tuple(slot for slot, environment in enumerate(self._slots) if environment is None)

    def mark_played(self) -> None:
        """End of a cycle's play: nothing is fresh any more."""
        self._fresh.clear()

    def state_dict(self) -> dict[str, Any]:
        """Slots and freshness as plain data; anchors come from the config."""
        return {
            "slots": [None if e is None else dataclasses.asdict(e) for e in self._slots],
            "fresh": sorted(self._fresh),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from ``state_dict``, which a changed config may have given other slots: the first ones count."""
        count = self.slots
        rows = [*state["slots"], *[None] * count][:count]
        self._slots = [
            None if row is None else Environment(**{**row, "parents": tuple(row["parents"])}) for row in rows
        ]
        self._fresh = set(state["fresh"])

    def metrics(self) -> dict[str, float]:
        """How many are in play."""
        return {"pool/size": float(len(self.environments))}
