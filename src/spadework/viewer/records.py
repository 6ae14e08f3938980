"""One run as the pages see it: its rows, read anew only when a cycle was committed since."""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from spadework.analysis.environments import Row, design_rows, environment_rows
from spadework.config import RunConfig
from spadework.runs.store import RunStore
from spadework.selfplay.loop import HOPELESS, MASTERED

T = TypeVar("T")


class RunView:
    """A run directory to look at, also while it is being written. Safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, path.resolve().name
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._kept: dict[str, tuple[int, Any]] = {}
        with self.open() as store:
            self.config: RunConfig = store.config

    @contextmanager
    def open(self) -> Iterator[RunStore]:
        """The store, for one request."""
        store = RunStore.read(self.path)
        try:
            yield store
        finally:
            store.close()

    def cycles(self) -> int:
        """How many cycles are committed."""
        with self.open() as store:
            return int(store.query("SELECT coalesce(max(cycle) + 1, 0) AS n FROM metrics")[0]["n"])

    def age(self) -> float:
        """Seconds since the run's database was last written."""
        files = (self.path / "run.sqlite", self.path / "run.sqlite-wal")
        return max(0.0, time.time() - max(os.stat(file).st_mtime for file in files if file.exists()))

    def environments(self) -> list[Row]:
        """``environment_rows`` with ``state`` and ``why``."""
        return self._once("environments", self._environments)

    def designs(self) -> list[Row]:
        """``design_rows``."""
        return self._once("designs", lambda: self._read(design_rows))

    def skills(self) -> list[str]:
        """The skills of all environments, by name."""
        rows = self._once(
            "skills", lambda: self._read(lambda store: store.query("SELECT DISTINCT skill FROM environments"))
        )
        return sorted(row["skill"] for row in rows)

    def programs(self, most: int) -> dict[str, str]:
        """Name -> source of at most ``most`` environments, spread evenly over the run."""
        names = [row["id"] for row in self.environments()]
        chosen = names[:: -(-len(names) // most)] if names else []
        marks = ", ".join("?" * len(chosen))
        query = f"SELECT id, source FROM environments WHERE id IN ({marks}) GROUP BY id"
        return {row["id"]: row["source"] for row in self._read(lambda store: store.query(query, *chosen))}

    def _environments(self) -> list[Row]:
        rows = self._read(environment_rows)
        newest = self.cycles() - 1
        for row in rows:
            row["state"], row["why"] = _state(row, newest, self.config)
        return rows

    def _read(self, work: Callable[[RunStore], T]) -> T:
        with self.open() as store:
            return work(store)

    def _once(self, name: str, make: Callable[[], T]) -> T:
        """What ``make`` gives, kept until the next commit; made once, while others wait for it."""
        with self._locks[name]:
            version = self.cycles()
            kept = self._kept.get(name)
            if kept is None or kept[0] != version:
                self._kept[name] = kept = version, make()
            made: T = kept[1]
            return made


def _state(row: Row, newest: int, config: RunConfig) -> tuple[str, str]:
    """In the pool or out of it, and why; told from its plays, since a run stores no such event."""
    last = row["last_cycle"]
    if last is None:
        return "waiting", "not played yet"
    retired = _retired(row) if config.pool.retire and row["design"] is not None else ""
    if retired:
        return "retired", retired
    if last == newest:
        return "in pool", ""
    return "replaced", f"another took its slot after cycle {last + 1}"


def _retired(row: Row) -> str:
    if row["unhinted"] is None:
        return ""
    if row["unhinted"] >= MASTERED:
        return f"mastered: won {row['unhinted']:.0%} without the hint in cycle {row['last_cycle'] + 1}"
    if row["unhinted"] <= HOPELESS and (row["regret"] or 0.0) <= HOPELESS:
        return f"hopeless even with the hint, in cycle {row['last_cycle'] + 1}"
    return ""
