"""One run as the pages see it. Its rows are kept, and read again only after a further cycle is committed."""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from spadework.analysis.environments import Row, design_rows, environment_rows
from spadework.analysis.titles import ProgramTitle, program_title
from spadework.config import RunConfig
from spadework.runs.store import RunStore
from spadework.types import HOPELESS, MASTERED

T = TypeVar("T")
_AT_ONCE = 500
"""Names in one question to the database."""


class RunView:
    """A run directory to look at, also while it is being written. Safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, path.resolve().name
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._kept: dict[str, tuple[int, Any]] = {}
        self._titles: dict[str, ProgramTitle] = {}
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
        """``untitled`` with the ``name`` and ``summary`` of every row (``program_title``)."""
        rows = self.untitled()
        self.title(rows)
        return rows

    def untitled(self) -> list[Row]:
        """``environment_rows`` with ``state`` and ``why``; ``name`` and ``summary`` are ``None`` before ``title``."""
        return self._once("environments", self._environments)

    def title(self, rows: Iterable[Row]) -> None:
        """Fill in ``name`` and ``summary``. A title is read out of a program, and those of a long run take a while."""
        wanted = [row for row in rows if row["name"] is None]
        with self._locks["titles"]:
            self._read_titles([row["id"] for row in wanted if row["id"] not in self._titles])
        for row in wanted:
            title = self._titles.get(row["id"], ProgramTitle())
            row["name"], row["summary"] = title.name, title.summary

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
        names = [row["id"] for row in self.untitled()]
        chosen = names[:: -(-len(names) // most)] if names else []
        marks = ", ".join("?" * len(chosen))
        query = f"SELECT id, source FROM environments WHERE id IN ({marks}) GROUP BY id"
        return {row["id"]: row["source"] for row in self._read(lambda store: store.query(query, *chosen))}

    def _environments(self) -> list[Row]:
        rows = self._read(environment_rows)
        newest = self.cycles() - 1
        for row in rows:
            row["state"], row["why"] = _state(row, newest, self.config)
            row["name"] = row["summary"] = None
        return rows

    def _read_titles(self, new: list[str]) -> None:
        """Title the environments called ``new``; a program never changes, so the titles are kept."""
        with self.open() as store:
            for start in range(0, len(new), _AT_ONCE):
                chosen = new[start : start + _AT_ONCE]
                marks = ", ".join("?" * len(chosen))
                query = f"SELECT id, source FROM environments WHERE id IN ({marks}) GROUP BY id"
                for row in store.query(query, *chosen):
                    self._titles[row["id"]] = program_title(row["source"])

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
    """In the pool or out of it, and why."""
    last, event = row["last_cycle"], row["event"]
    if last is None:
        return "waiting", "not played yet"
    if event is None:
        return _guessed_state(row, newest, config)
    if event["entered"]:
        return "in pool", ""
    told = {"replaced": f"another took its slot in cycle {event['cycle'] + 1}"}
    told |= {"climbed": f"its next level took its slot in cycle {event['cycle'] + 1}"}
    if event["why"] in told:
        return "replaced", told[event["why"]]
    return "retired", _retired_for(event["why"], row, event["cycle"])


def _retired_for(why: str, row: Row, cycle: int) -> str:
    if why == "mastered":
        return f"mastered: won {row['last_rate'] or 0.0:.0%} without the hint in cycle {cycle + 1}"
    if why == "hopeless":
        return f"hopeless even with the hint, in cycle {cycle + 1}"
    return f"its program failed in most plays of cycle {cycle + 1}"


def _guessed_state(row: Row, newest: int, config: RunConfig) -> tuple[str, str]:
    """The state told from its plays: runs of 0.1 stored no events."""
    rate = row["last_rate"]
    if config.pool.retire and row["design"] is not None and rate is not None:
        if rate >= MASTERED:
            return "retired", _retired_for("mastered", row, row["last_cycle"])
        if rate <= HOPELESS and (row["regret"] or 0.0) <= HOPELESS:
            return "retired", _retired_for("hopeless", row, row["last_cycle"])
    if row["last_cycle"] == newest:
        return "in pool", ""
    return "replaced", f"another took its slot after cycle {row['last_cycle'] + 1}"
