"""A run directory: SQLite for what is asked by key, Parquet for what is long, folders for weights.

    RUN/run.sqlite            config, environments, designs, plays, metrics, checkpoints, state
    RUN/episodes/00007.parquet, RUN/sequences/00007.parquet
    RUN/checkpoints/00007/    weights, optimiser and generators, with checksums

A cycle is committed once: files first, each whole or absent, then one SQLite transaction that names them. Whatever a
killed process left beyond the last commit is swept away on resume, so nothing is counted twice.
"""

from __future__ import annotations

import errno
import fcntl
import json
import math
import os
import shutil
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import IO, Any

from spadework import types
from spadework.config import RunConfig
from spadework.config.files import config_changes, dump_config, parse_config
from spadework.errors import RunError
from spadework.runs.files import torn, write_folder, write_whole
from spadework.runs.tables import EPISODES, SEQUENCES, write_rows
from spadework.types import Design, Environment, Episode, plain

SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS environments (
    id TEXT, cycle INTEGER, skill TEXT, domain TEXT, document_id TEXT, designer_version INTEGER, parents TEXT,
    design_id TEXT, sha256 TEXT, source TEXT, hint TEXT, PRIMARY KEY (id, cycle));
CREATE TABLE IF NOT EXISTS designs (
    id TEXT PRIMARY KEY, cycle INTEGER, slot INTEGER, attempt INTEGER, skill TEXT, document_id TEXT, parents TEXT,
    prompt TEXT, reply TEXT, source TEXT, findings TEXT, repaired INTEGER, ran INTEGER, environment_id TEXT,
    fault TEXT, variant TEXT, novelty REAL);
CREATE TABLE IF NOT EXISTS scores (
    design_id TEXT PRIMARY KEY, cycle INTEGER, raw REAL, reward REAL, advantage REAL);
CREATE TABLE IF NOT EXISTS plays (
    environment_id TEXT, cycle INTEGER, arm TEXT, episodes INTEGER, faults INTEGER, mean_return REAL, win_rate REAL,
    PRIMARY KEY (environment_id, cycle, arm));
CREATE TABLE IF NOT EXISTS regrets (
    environment_id TEXT, cycle INTEGER, mean REAL, low REAL, high REAL, sd REAL, n INTEGER,
    PRIMARY KEY (environment_id, cycle));
CREATE TABLE IF NOT EXISTS events (
    environment_id TEXT, cycle INTEGER, slot INTEGER, entered INTEGER, why TEXT);
CREATE TABLE IF NOT EXISTS metrics (cycle INTEGER, name TEXT, value REAL, PRIMARY KEY (cycle, name));
CREATE TABLE IF NOT EXISTS checkpoints (cycle INTEGER PRIMARY KEY, folder TEXT, state TEXT);
"""
TORN = ".torn"
CYCLE_TABLES = ("environments", "designs", "scores", "plays", "regrets", "events", "metrics", "checkpoints")


@dataclass(frozen=True, slots=True)
class Score:
    """What a design was paid, and when."""

    design_id: str
    raw: float
    reward: float
    advantage: float


@dataclass(frozen=True, slots=True)
class PlayRow:
    """One environment and arm in one cycle."""

    environment_id: str
    arm: str
    episodes: int
    faults: int
    mean_return: float
    win_rate: float


@dataclass(frozen=True, slots=True)
class RegretRow:
    """Hinted minus unhinted return of one environment in one cycle, with its 95 % interval over ``n`` seeds."""

    environment_id: str
    mean: float
    low: float
    high: float
    sd: float
    n: int


@dataclass(frozen=True, slots=True)
class EventRow:
    """An environment came into play (``entered``) or left it; ``slot`` is ``None`` for anchors."""

    environment_id: str
    slot: int | None
    entered: bool
    why: str


@dataclass(frozen=True, slots=True)
class CycleRecord:
    """Everything that one cycle leaves."""

    cycle: int
    environments: Sequence[Environment] = ()
    designs: Sequence[Design] = ()
    scores: Sequence[Score] = ()
    plays: Sequence[PlayRow] = ()
    regrets: Sequence[RegretRow] = ()
    events: Sequence[EventRow] = ()
    episodes: Sequence[Episode] = ()
    sequences: Sequence[types.TrainingRow] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where a run can go on from: after ``cycle``, with the weights in ``folder`` and the stages' ``state``."""

    cycle: int
    folder: Path
    state: Mapping[str, Any]


class RunStore:
    """One run directory. ``create`` and ``resume`` write; ``read`` only reads."""

    def __init__(self, path: Path, database: sqlite3.Connection, lock: IO[str] | None = None) -> None:
        self.path, self._db, self._lock = path, database, lock
        self.notes: list[str] = []
        """What was set aside on opening, for the user to read."""

    @classmethod
    def create(cls, path: Path, config: RunConfig) -> RunStore:
        """Make a new run directory. Raises ``RunError`` when one is there already."""
        if (path / "run.sqlite").exists():
            raise RunError(f"{path} holds a run already; add --resume to go on with it, or give another --run folder")
        with _disk(path):
            for folder in ("episodes", "sequences", "checkpoints"):
                (path / folder).mkdir(parents=True, exist_ok=True)
            store = cls(path, _connect(path / "run.sqlite"), _take_lock(path))
            with store._db:
                store._db.executescript(SCHEMA)
                text = json.dumps(dump_config(config), sort_keys=True)
                store._db.execute("INSERT OR REPLACE INTO meta VALUES ('config', ?)", (text,))
        return store

    @classmethod
    def resume(cls, path: Path) -> RunStore:
        """Open a run to go on with it: drop what came after the last good checkpoint."""
        store = cls(path, _open(path), _take_lock(path))
        with _disk(path):
            _bring_up_to_date(store._db)
            store._sweep()
        return store

    @classmethod
    def read(cls, path: Path) -> RunStore:
        """Open a run to look at, also while it is being written."""
        return cls(path, _open(path))

    def close(self) -> None:
        """Let go of the database and the lock."""
        self._db.close()
        if self._lock is not None:
            self._lock.close()

    @property
    def config(self) -> RunConfig:
        """The config that the run was started with."""
        return parse_config(json.loads(self._meta("config")), str(self.path))

    def adopt_config(self, config: RunConfig, *, change: bool, how: str) -> list[str]:
        """Go on under ``config``: what ``config_changes`` says of it (faults.md, 24).

        Raises ``RunError``, and lets go of the run, when something changed and the user did not ask for it with
        ``change``; ``how`` says how to ask.
        """
        changes = config_changes(self.config, config)
        if changes and not change:
            self.close()
            told = "\n  ".join(["was started with other settings:", *changes])
            raise RunError(f"{self.path} {told}\nTo take them over, {how}.")
        if changes:
            with self._db:
                text = json.dumps(dump_config(config), sort_keys=True)
                self._db.execute("INSERT OR REPLACE INTO meta VALUES ('config', ?)", (text,))
        return changes

    def commit(self, record: CycleRecord, checkpoint: Mapping[str, Any] | None, save_weights: Any = None) -> None:
        """Write one cycle, with a checkpoint when ``checkpoint`` (the stages' state) is given.

        ``save_weights(folder)`` writes the trainer. Raises ``RunError`` when the disk is full; the run then stands as
        it was before this cycle.
        """
        name = f"{record.cycle:05d}"
        with _disk(self.path):
            write_whole(
                self.path / "episodes" / f"{name}.parquet", lambda path: write_rows(path, record.episodes, EPISODES)
            )
            write_whole(
                self.path / "sequences" / f"{name}.parquet", lambda path: write_rows(path, record.sequences, SEQUENCES)
            )
            if checkpoint is not None:
                write_folder(self.path / "checkpoints" / name, save_weights or (lambda folder: None))
            with self._db:
                self._insert(record)
                if checkpoint is not None:
                    row = (record.cycle, name, json.dumps(checkpoint))
                    self._db.execute("INSERT INTO checkpoints VALUES (?, ?, ?)", row)

    def prune(self, keep: int, spared: Collection[int] = ()) -> None:
        """Delete all but the newest ``keep`` checkpoints and those of the cycles ``spared``."""
        rows = self._db.execute("SELECT cycle, folder FROM checkpoints ORDER BY cycle DESC").fetchall()
        for cycle, folder in [row for row in rows[keep:] if row[0] not in spared]:
            with self._db:
                self._db.execute("DELETE FROM checkpoints WHERE cycle = ?", (cycle,))
            shutil.rmtree(self.path / "checkpoints" / folder, ignore_errors=True)

    def last_checkpoint(self) -> Checkpoint | None:
        """The newest one; ``None`` in a run without."""
        row = self._db.execute("SELECT cycle, folder, state FROM checkpoints ORDER BY cycle DESC LIMIT 1").fetchone()
        return Checkpoint(row[0], self.path / "checkpoints" / row[1], json.loads(row[2])) if row else None

    def checkpoints(self) -> dict[int, Path]:
        """The folders of all checkpoints by cycle, oldest first."""
        rows = self._db.execute("SELECT cycle, folder FROM checkpoints ORDER BY cycle").fetchall()
        return {cycle: self.path / "checkpoints" / folder for cycle, folder in rows}

    def best(self, metric: str) -> list[int]:
        """The checkpoint at which ``metric`` was highest (of equals the first); none where it was never measured."""
        kept = self.checkpoints()
        measured = [
            (value, -cycle)
            for cycle, value in self.metrics().get(metric, ())
            if cycle in kept and not math.isnan(value)
        ]
        return [-max(measured)[1]] if measured else []

    def metrics(self) -> dict[str, list[tuple[int, float]]]:
        """Every metric's (cycle, value) pairs, in order."""
        series: dict[str, list[tuple[int, float]]] = {}
        for cycle, name, value in self._db.execute("SELECT cycle, name, value FROM metrics ORDER BY cycle"):
            series.setdefault(name, []).append((cycle, float("nan") if value is None else value))
        return series

    def rows(self, table: str) -> list[dict[str, Any]]:
        """All rows of ``environments``, ``designs``, ``scores``, ``plays``, ``regrets`` or ``events``, by cycle."""
        if table not in CYCLE_TABLES:
            raise ValueError(f"no table {table!r} in a run")
        return self.query(f"SELECT * FROM {table} ORDER BY cycle, rowid")

    def query(self, sql: str, *parameters: Any) -> list[dict[str, Any]]:
        """Rows of a SELECT over the tables of ``SCHEMA``, for readers that want few columns of many rows.

        A table that the run does not have, because an older version wrote it, holds none. Raises ``RunError`` for a
        column that it does not have.
        """
        try:
            cursor = self._db.execute(sql, parameters)
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return []
            raise RunError(f"{self.path} was written by another version: {error}") from error
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    def episode_files(self) -> list[Path]:
        """The Parquet files of episodes, by cycle."""
        return sorted((self.path / "episodes").glob("*.parquet"))

    def sequence_files(self) -> list[Path]:
        """The Parquet files of training rows, by cycle."""
        return sorted((self.path / "sequences").glob("*.parquet"))

    def _meta(self, key: str) -> str:
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise RunError(f"{self.path}: run.sqlite holds no {key}; it is not a whole run directory")
        return str(row[0])

    def _insert(self, record: CycleRecord) -> None:
        cycle = record.cycle
        _insert_rows(self._db, "environments", [{**_flat(e), "sha256": e.sha256} for e in record.environments])
        _insert_rows(self._db, "designs", [_flat(d, drop=("segments",)) for d in record.designs])
        _insert_rows(self._db, "scores", [{**asdict(score), "cycle": cycle} for score in record.scores])
        _insert_rows(self._db, "plays", [{**asdict(play), "cycle": cycle} for play in record.plays])
        _insert_rows(self._db, "regrets", [{**asdict(regret), "cycle": cycle} for regret in record.regrets])
        _insert_rows(self._db, "events", [{**asdict(event), "cycle": cycle} for event in record.events])
        metrics = [{"cycle": cycle, "name": name, "value": value} for name, value in record.metrics.items()]
        _insert_rows(self._db, "metrics", metrics)

    def _sweep(self) -> None:
        """Set torn checkpoints aside, and drop rows and files of cycles after the last good one."""
        while (checkpoint := self.last_checkpoint()) is not None:
            why = torn(checkpoint.folder)
            if why is None:
                break
            self._set_aside(checkpoint, why)
        last = checkpoint.cycle if checkpoint else -1
        with self._db:
            for table in CYCLE_TABLES:
                self._db.execute(f"DELETE FROM {table} WHERE cycle > ?", (last,))
        for folder in ("episodes", "sequences", "checkpoints"):
            for path in (self.path / folder).iterdir():
                left_over = path.stem.isdigit() and int(path.stem) > last and path.suffix != TORN
                if path.name.startswith(".") or left_over:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()

    def _set_aside(self, checkpoint: Checkpoint, why: str) -> None:
        aside = checkpoint.folder.with_name(checkpoint.folder.name + TORN)
        if checkpoint.folder.exists():
            shutil.rmtree(aside, ignore_errors=True)
            checkpoint.folder.rename(aside)
        with self._db:
            self._db.execute("DELETE FROM checkpoints WHERE cycle = ?", (checkpoint.cycle,))
        self.notes.append(f"checkpoint {checkpoint.folder.name} is torn ({why}); set aside as {aside.name}")


def _flat(record: Design | Environment, drop: tuple[str, ...] = ()) -> dict[str, Any]:
    row = {one.name: plain(getattr(record, one.name)) for one in fields(record) if one.name not in drop}
    return {key: json.dumps(value) if isinstance(value, tuple | dict) else value for key, value in row.items()}


def _insert_rows(database: sqlite3.Connection, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    for row in rows:
        names, marks = ", ".join(row), ", ".join("?" * len(row))
        database.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(row.values()))


def _connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=30, check_same_thread=False)  # one thread at a time, not always the same
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    return database


def _bring_up_to_date(database: sqlite3.Connection) -> None:
    """Add the tables and columns that an older version did not have."""
    database.executescript(SCHEMA)
    with closing(sqlite3.connect(":memory:")) as model:
        model.executescript(SCHEMA)
        for (table,) in model.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            there = {row[1] for row in database.execute(f"PRAGMA table_info({table})")}
            for _, name, kind, *_ in model.execute(f"PRAGMA table_info({table})"):
                if name not in there:
                    database.execute(f"ALTER TABLE {table} ADD COLUMN {name} {kind}")


def _open(path: Path) -> sqlite3.Connection:
    if not (path / "run.sqlite").is_file():
        raise RunError(f"{path} is no run directory: it has no run.sqlite")
    return _connect(path / "run.sqlite")


def _take_lock(path: Path) -> IO[str]:
    lock = (path / "lock").open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise RunError(f"{path}: another process is writing this run") from None
    return lock


@contextmanager
def _disk(path: Path) -> Iterator[None]:
    """Turn a full disk and the like into one paragraph that says what is safe."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "full" not in str(error) and "disk" not in str(error):
            raise
        raise RunError(_full(path, str(error))) from error
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM):
            raise
        raise RunError(_full(path, os.strerror(error.errno))) from error


def _full(path: Path, why: str) -> str:
    return (
        f"{path} cannot be written: {why}. The run stands as it was after its last whole cycle; make room (or fix the "
        f"folder's rights) and go on with --resume."
    )
