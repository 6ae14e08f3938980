"""Which difficulty an environment is played at: a window of levels that slides up with the win rate (method section 9).

All environments begin at one level. When enough was tried at the top of an environment's window, the win rate there
is looked at once: high enough and the window grows by a level, up to its width, and then slides. Either way counting
begins anew. Levels are drawn from the windows uniformly, or by learning potential: how far two moving averages of a
level's return, a fast and a slow one, lie apart.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from spadework.config import DifficultySection


@dataclass(slots=True)
class Window:
    """The levels of one environment that are played, and what was won at the highest of them since the last look."""

    low: int
    high: int
    tries: int = 0
    wins: int = 0

    @property
    def levels(self) -> range:
        """All of them, lowest first."""
        return range(self.low, self.high + 1)

    def learn(self, level: int, wins: int, tries: int, settings: DifficultySection, top: int | None) -> bool:
        """Count tries at the top level; True when they promote to the next one."""
        if level != self.high:
            return False
        self.tries += tries
        self.wins += wins
        if self.tries < settings.tries:
            return False
        promoted = self.wins >= settings.win_rate * self.tries and self.high < _highest(settings, top)
        self.tries = self.wins = 0
        if promoted:
            self.high += 1
            self.low = max(self.low, self.high - settings.width + 1)
        return promoted


@dataclass(frozen=True, slots=True)
class Span:
    """Where an environment begins, and its own highest level; ``None`` where there is no end."""

    start: int = 0
    top: int | None = None


class Controller:
    """The windows of all environments, by name.

    Args:
        settings: how windows move, and how levels are drawn.
    """

    def __init__(self, settings: DifficultySection) -> None:
        self.settings = settings
        self._spans: dict[str, Span] = {}
        self._windows: dict[str, Window] = {}
        self._fast: dict[str, float] = {}
        self._slow: dict[str, float] = {}
        self._potential: dict[str, float] = {}
        self._promotions = 0

    def add(self, name: str, span: Span) -> None:
        """Take in an environment; one that is known keeps its window."""
        self._spans[name] = span
        start = min(span.start, _highest(self.settings, span.top))
        self._windows.setdefault(name, Window(start, start))

    def keep(self, names: Collection[str]) -> None:
        """Forget all other environments."""
        self._spans = {name: span for name, span in self._spans.items() if name in names}
        self._windows = {name: window for name, window in self._windows.items() if name in names}
        for levels in (self._potential, self._fast, self._slow):
            for cell in [cell for cell in levels if cell.rpartition("/")[0] not in names]:
                del levels[cell]

    def __contains__(self, name: str) -> bool:
        return name in self._windows

    def window(self, name: str) -> Window:
        """The window of an environment."""
        return self._windows[name]

    def at_top(self, name: str) -> bool:
        """Whether there is no level above an environment's window."""
        return self._windows[name].high >= _highest(self.settings, self._spans[name].top)

    def draw(self, rng: random.Random) -> tuple[str, int]:
        """An environment and a level of its window."""
        if self.settings.controller == "learning_potential" and rng.random() >= self.settings.explore:
            cells = [(name, level) for name, window in self._windows.items() for level in window.levels]
            weights = [self._potential.get(_cell(*cell), 1.0) for cell in cells]
            if any(weights):
                return rng.choices(cells, weights)[0]
        name = rng.choice(list(self._windows))
        return name, rng.choice(self._windows[name].levels)

    def learn(self, name: str, level: int, wins: int, tries: int, mean_return: float) -> bool:
        """Take in what was played at a level; True when the environment is promoted.

        A level's learning potential is |mu_fast - mu_slow| of its returns; 1 until it was played twice.
        """
        if not tries or math.isnan(mean_return):
            return False
        self._average(_cell(name, level), mean_return)
        promoted = self._windows[name].learn(level, wins, tries, self.settings, self._spans[name].top)
        self._promotions += promoted
        return promoted

    def _average(self, cell: str, mean_return: float) -> None:
        """Move both averages of a level; its first return initialises them."""
        known = cell in self._slow
        for averages, gamma in ((self._fast, self.settings.gamma_fast), (self._slow, self.settings.gamma_slow)):
            averages[cell] = (1.0 - gamma) * averages.get(cell, mean_return) + gamma * mean_return
        if known:
            self._potential[cell] = abs(self._fast[cell] - self._slow[cell])

    def state_dict(self) -> dict[str, Any]:
        """Windows with their counts, and what is known of each level."""
        return {
            "windows": {name: asdict(window) for name, window in self._windows.items()},
            "spans": {name: asdict(span) for name, span in self._spans.items()},
            "potential": dict(self._potential),
            "averages": {"fast": dict(self._fast), "slow": dict(self._slow)},
            "promotions": self._promotions,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from ``state_dict``; environments that are new since then keep their first window."""
        self._spans |= {name: Span(**span) for name, span in state["spans"].items()}
        self._windows |= {name: Window(**window) for name, window in state["windows"].items()}
        self._potential = dict(state["potential"])
        self._fast, self._slow = dict(state["averages"]["fast"]), dict(state["averages"]["slow"])
        self._promotions = int(state["promotions"])

    def metrics(self) -> dict[str, float]:
        """Mean and largest top level, and promotions so far; nothing while there is no environment."""
        tops = [window.high for window in self._windows.values()]
        if not tops:
            return {}
        return {
            "difficulty/top_mean": sum(tops) / len(tops),
            "difficulty/top_max": float(max(tops)),
            "difficulty/promotions": float(self._promotions),
        }


def _highest(settings: DifficultySection, top: int | None) -> int:
    return settings.cap if top is None else min(settings.cap, top)


def _cell(name: str, level: int) -> str:
    return f"{name}/{level}"
