"""Past environments with their win rates and regrets, from which the designer's prompt takes examples (section 3)."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from spadework.selfplay.records import Example, Label
from spadework.types import Environment


@dataclass(frozen=True, slots=True)
class Remembered:
    """One past environment."""

    environment_id: str
    source: str
    skill: str
    document_id: str
    cycle: int
    win_rate: float
    regret: float
    """Last measured regret; NaN where the hinted arm was never played."""

    def environment(self, domain: str) -> Environment:
        """The environment without its hint, to be played again."""
        return Environment(
            id=self.environment_id,
            source=self.source,
            hint="",
            skill=self.skill,
            domain=domain,
            document_id=self.document_id,
            cycle=self.cycle,
            designer_version=0,
        )


class Memory:
    """The last ``size`` environments. Remembering a known one updates its entry without making it newer."""

    def __init__(self, size: int = 200) -> None:
        self.size = size
        self._entries: dict[str, Remembered] = {}

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def entries(self) -> tuple[Remembered, ...]:
        """All entries, oldest first."""
        return tuple(self._entries.values())

    def remember(self, entry: Remembered) -> None:
        """Add an environment, or update its win rate and regret."""
        self._entries[entry.environment_id] = entry
        while len(self._entries) > self.size:
            del self._entries[next(iter(self._entries))]

    def regret_of(self, environment_id: str) -> float:
        """The last measured regret of an environment; NaN for one that is not in memory."""
        entry = self._entries.get(environment_id)
        return entry.regret if entry else math.nan

    def draw_past(self, n: int, playing: Collection[str], rng: random.Random) -> list[Remembered]:
        """Draw up to ``n`` entries of environments that are not in play."""
        return _draw([entry for entry in self._entries.values() if entry.environment_id not in playing], n, rng)

    def win_rate_of(self, environment_id: str) -> float:
        """The last measured win rate of an environment; NaN for one that is not in memory."""
        entry = self._entries.get(environment_id)
        return entry.win_rate if entry else math.nan

    def examples(
        self, skill: str, rng: random.Random, positive: int, negative: int, fits: Callable[[str], bool]
    ) -> tuple[Example, ...]:
        """Draw examples for a prompt.

        Good examples are drawn from the max(3n, 10) entries of highest regret (an unknown regret counts as 0) among
        those of ``skill`` with a win rate in [0.15, 0.85]. Bad examples are drawn from entries with a win rate above
        0.9 or below 0.1.

        Args:
            skill: the skill of the design.
            rng: the random generator of the draws.
            positive: the number of good examples.
            negative: the number of bad examples.
            fits: returns whether the prompt's budget has room for a program; called once per drawn program.
        """
        same = [entry for entry in self._entries.values() if entry.skill == skill]
        middle = [entry for entry in same if 0.15 <= entry.win_rate <= 0.85]
        middle.sort(key=lambda entry: 0.0 if math.isnan(entry.regret) else -entry.regret)
        top = middle[: max(3 * positive, 10)]
        edges = [entry for entry in same if entry.win_rate > 0.9 or entry.win_rate < 0.1]
        drawn: list[tuple[Remembered, Label]] = [(entry, "good") for entry in _draw(top, positive, rng)]
        drawn += [(e, "too easy" if e.win_rate > 0.9 else "too hard") for e in _draw(edges, negative, rng)]
        return tuple(Example(e.environment_id, e.source, label) for e, label in drawn if fits(e.source))

    def state_dict(self) -> dict[str, Any]:
        """All entries, oldest first, as plain data."""
        return {"entries": [dataclasses.asdict(entry) for entry in self._entries.values()]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from ``state_dict``."""
        entries = [Remembered(**row) for row in state["entries"]]
        self._entries = {entry.environment_id: entry for entry in entries}

    def metrics(self) -> dict[str, float]:
        """The number of entries."""
        return {"memory/size": float(len(self._entries))}


def _draw(entries: list[Remembered], n: int, rng: random.Random) -> list[Remembered]:
    return rng.sample(entries, min(n, len(entries)))
