"""A run directory: SQLite for records that are looked up by key, Parquet for long ones, and folders for weights.

    RUN/run.sqlite            config, environments, designs, plays, metrics, checkpoints, state
    RUN/episodes/00007.parquet, RUN/sequences/00007.parquet
    RUN/checkpoints/00007/    weights, optimiser and generators, with checksums

A cycle is committed in two steps: first its files, each written atomically, then one SQLite transaction that makes them
part of the run. Resuming deletes whatever a killed process left beyond the last commit, so nothing is counted twice.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import IO, Any

from spadework.config import RunConfig
from spadework.config.differences import Change, config_changes
from spadework.config.files import dump_config, parse_stored_config
from spadework.errors import RunError
from spadework.runs.cycle_record import CycleRecord
from spadework.runs.database import (
    FORMAT,
    SCHEMA,
    bring_up_to_date,
    check_known,
    connect_to_read,
    connect_to_write,
    insert_rows,
)
from spadework.runs.files import on_disk, take_lock, torn, write_folder, write_whole
from spadework.runs.machine import this_machine
from spadework.runs.tables import EPISODES, SEQUENCES, write_rows
from spadework.types import Design, Environment, plain

TORN = ".torn"
"""The suffix of the folder of a damaged checkpoint that was set aside."""
STORED = "The run stands as it was after its last whole cycle: make room, or fix its rights, and go on with --resume"
NOTHING_STORED = (
    "Nothing was stored yet: make room, fix its rights or name another folder, and run the same command again"
)
OWN = ("run.sqlite", "run.sqlite-wal", "run.sqlite-shm", "lock", "episodes", "sequences", "checkpoints")
"""The files and folders that a store creates in a run directory."""
CYCLE_TABLES = ("environments", "designs", "scores", "plays", "regrets", "events", "metrics", "checkpoints")
"""The tables whose rows belong to a cycle. Resuming deletes what they hold of cycles after the last checkpoint."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A state from which a run can continue: after ``cycle``, with weights in ``folder`` and the stages' ``state``."""

    cycle: int
    folder: Path
    state: Mapping[str, Any]
    format: int = FORMAT
    """The version of the format of ``state``."""


class RunStore:
    """One run directory. ``create`` and ``resume`` write; ``read`` only reads."""

    def __init__(self, path: Path, database: sqlite3.Connection, lock: IO[str] | None = None) -> None:
        self.path = path
        self._db = database
        self._lock = lock
        self._made: list[Path] = []
        """What ``create`` made, for ``discard_if_unstarted`` to delete."""
        self.notes: list[str] = []
        """Messages for the user about what opening the run set aside."""

    @classmethod
    def create(cls, path: Path, config: RunConfig) -> RunStore:
        """Create a run directory. An existing one is reused if no cycle was ever stored in it.

        Raises ``RunError`` when the directory already holds a run, or cannot be created.
        """
        # What is there before the start stays there if the start fails.
        new = not path.exists()
        found = set(path.iterdir()) if path.is_dir() else set[Path]()
        with on_disk(path, NOTHING_STORED):
            path.mkdir(parents=True, exist_ok=True)
            lock = take_lock(path)
            try:
                _check_free(path)
                store = cls(path, connect_to_write(path / "run.sqlite"), lock)
            except BaseException:
                lock.close()
                raise
            store._made = [path] if new else [path / name for name in OWN if path / name not in found]
            try:
                store._begin(config)
            except BaseException:
                store.discard_if_unstarted()
                raise
        return store

    @classmethod
    def resume(cls, path: Path) -> RunStore:
        """Open a run to continue it, and drop everything after the last intact checkpoint. Raises ``RunError``."""
        if not (path / "run.sqlite").is_file():
            raise RunError(f"{path} is no run directory: it has no run.sqlite")
        with on_disk(path, STORED):
            store = cls(path, connect_to_write(path / "run.sqlite"), take_lock(path))
            try:
                store._check_format()
                store._begin()
            except BaseException:
                store.close()
                raise
        return store

    @classmethod
    def read(cls, path: Path) -> RunStore:
        """Open a run for reading, even while it is being written or in a read-only folder. Raises ``RunError``."""
        if not (path / "run.sqlite").is_file():
            raise RunError(f"{path} is no run directory: it has no run.sqlite")
        store = cls(path, connect_to_read(path / "run.sqlite"))
        try:
            store._check_format()
        except BaseException:
            store.close()
            raise
        return store

    def discard_if_unstarted(self) -> None:
        """Close the run and, if no cycle was stored, delete what ``create`` made: a failed start leaves nothing behind.

        The whole directory is deleted only if ``create`` made it; otherwise only the store's own files are.
        """
        if not self._made or self._holds_a_cycle():
            return
        self.close()
        for path in self._made:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the database and release the lock."""
        self._db.close()
        if self._lock is not None:
            self._lock.close()

    @property
    def config(self) -> RunConfig:
        """The config that the run currently uses."""
        return parse_stored_config(json.loads(self._meta("config")), str(self.path))

    @property
    def format(self) -> int:
        """The version of the run directory's format; see ``FORMAT``."""
        return int(self._find_meta("format") or 1)

    def adopt_config(self, config: RunConfig, *, change: bool, how: str) -> list[Change]:
        """Continue the run under ``config``; returns the differences from the stored config.

        Settings that change what a run does are adopted only with ``change``. Otherwise this closes the run and raises
        ``RunError`` with ``how``, a text that tells the user how to ask for the change.
        """
        before = self.config.run.cycles
        stored = self._last_cycle() + 1
        changes = config_changes(self.config, config)
        refused = [] if change else [one for one in changes if not one.free]
        if refused:
            self.close()
            listed = "\n  ".join(str(one) for one in refused)
            raise RunError(f"{self.path} was started with other settings:\n  {listed}\nTo take them over, {how}.")
        if config.run.cycles < before and config.run.cycles <= stored:
            self.close()
            raise RunError(f"run.cycles is {config.run.cycles}, but {self.path} holds {stored} cycles already")
        if changes:
            with self._db:
                # The run had come to its end, so its last cycle paid all waiting designs. ``rescore`` has to know.
                if before == stored < config.run.cycles:
                    self._write_meta("ended", json.dumps([*self.ended(), before - 1]))
                self._write_config(config)
        return changes

    def machine(self) -> dict[str, str]:
        """The host and the versions that the run began with (``this_machine``); nothing for runs of 0.1."""
        stored: dict[str, str] = json.loads(self._find_meta("machine") or "{}")
        return stored

    def ended(self) -> list[int]:
        """The cycles that were the run's last before it was extended; all waiting designs were paid in each of them."""
        return [int(cycle) for cycle in json.loads(self._find_meta("ended") or "[]")]

    def commit(self, record: CycleRecord, checkpoint: Mapping[str, Any] | None, save_weights: Any = None) -> None:
        """Commit one cycle, with a checkpoint when ``checkpoint`` (the stages' state) is given.

        ``save_weights(folder)`` writes the trainer's state. Raises ``RunError`` when the disk is full; the run then
        stays as it was before this cycle.
        """
        name = f"{record.cycle:05d}"
        with on_disk(self.path, STORED if self._holds_a_cycle() else NOTHING_STORED):
            # Files come first: they become part of the run with the transaction below. If the process is killed in
            # between, the run still ends at the cycle before, and the next ``resume`` deletes them.
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
                    self._insert_checkpoint(record.cycle, name, checkpoint)

    def add_checkpoint(self, cycle: int, state: Mapping[str, Any], save_weights: Any) -> None:
        """Write the checkpoint of the last cycle, which was committed without one. Raises ``RunError``."""
        name = f"{cycle:05d}"
        with on_disk(self.path, STORED):
            write_folder(self.path / "checkpoints" / name, save_weights)
            with self._db:
                self._insert_checkpoint(cycle, name, state)

    def _insert_checkpoint(self, cycle: int, name: str, state: Mapping[str, Any]) -> None:
        row = (cycle, name, json.dumps({"format": FORMAT, **state}))
        self._db.execute("INSERT INTO checkpoints VALUES (?, ?, ?)", row)

    def prune(self, keep: int, spared: Collection[int] = ()) -> None:
        """Delete all checkpoints but the newest ``keep`` and those of the cycles in ``spared``. Raises ``RunError``."""
        rows = self._db.execute("SELECT cycle, folder FROM checkpoints ORDER BY cycle DESC").fetchall()
        for cycle, folder in rows[keep:]:
            if cycle in spared:
                continue
            # The row goes first: a folder without a row is swept up later, but a row without its folder reads as a
            # damaged checkpoint.
            with on_disk(self.path, STORED), self._db:
                self._db.execute("DELETE FROM checkpoints WHERE cycle = ?", (cycle,))
            shutil.rmtree(self.path / "checkpoints" / folder, ignore_errors=True)

    def last_checkpoint(self) -> Checkpoint | None:
        """The newest checkpoint; ``None`` where there is none."""
        row = self._db.execute("SELECT cycle, folder, state FROM checkpoints ORDER BY cycle DESC LIMIT 1").fetchone()
        if row is None:
            return None
        cycle, folder, text = row
        state = json.loads(text)
        form = int(state.pop("format", 1))
        check_known(self.path, form)
        return Checkpoint(cycle, self.path / "checkpoints" / folder, state, form)

    def checkpoints(self) -> dict[int, Path]:
        """The folder of each checkpoint by cycle, oldest first."""
        rows = self._db.execute("SELECT cycle, folder FROM checkpoints ORDER BY cycle").fetchall()
        return {cycle: self.path / "checkpoints" / folder for cycle, folder in rows}

    def best(self, metric: str) -> list[int]:
        """The cycle of the checkpoint with the highest ``metric``, the first of equals; empty if never measured."""
        kept = self.checkpoints()
        rows = self._db.execute("SELECT cycle, value FROM metrics WHERE name = ?", (metric,)).fetchall()
        measured = {cycle: value for cycle, value in rows if cycle in kept and value is not None}
        if not measured:
            return []
        highest = max(measured.values())
        return [min(cycle for cycle, value in measured.items() if value == highest)]

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
        """The rows of a SELECT over the tables of ``SCHEMA``, for readers that need few columns of many rows.

        A table that is missing, because an older version wrote the run, counts as empty. Raises ``RunError`` for a
        column that is missing.
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
        """The Parquet files of episodes, in order of cycle."""
        return sorted((self.path / "episodes").glob("*.parquet"))

    def sequence_files(self) -> list[Path]:
        """The Parquet files of training rows, in order of cycle."""
        return sorted((self.path / "sequences").glob("*.parquet"))

    def _meta(self, key: str) -> str:
        value = self._find_meta(key)
        if value is None:
            raise RunError(f"{self.path}: run.sqlite holds no {key}; it is not a whole run directory")
        return value

    def _find_meta(self, key: str) -> str | None:
        rows = self.query("SELECT value FROM meta WHERE key = ?", key)
        return str(rows[0]["value"]) if rows else None

    def _begin(self, config: RunConfig | None = None) -> None:
        """Create or migrate folders and tables for this version; ``config`` is given for a new run."""
        for folder in ("episodes", "sequences", "checkpoints"):
            (self.path / folder).mkdir(exist_ok=True)
        bring_up_to_date(self._db, SCHEMA)
        self._sweep()
        with self._db:
            self._write_meta("format", str(FORMAT))
            if config is not None:
                self._write_config(config)
                self._write_meta("machine", json.dumps(this_machine()))

    def _write_meta(self, key: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def _write_config(self, config: RunConfig) -> None:
        self._write_meta("config", json.dumps(dump_config(config), sort_keys=True))

    def _check_format(self) -> None:
        check_known(self.path, self.format)

    def _last_cycle(self) -> int:
        """The last cycle that was stored, counted from 0; -1 before the first."""
        rows = self.query("SELECT max(cycle) AS last FROM metrics")
        return -1 if not rows or rows[0]["last"] is None else int(rows[0]["last"])

    def _holds_a_cycle(self) -> bool:
        return self._last_cycle() >= 0

    def _insert(self, record: CycleRecord) -> None:
        """Insert the rows of a cycle. Tokens are left out: they are in the Parquet file of training rows."""
        cycle = record.cycle
        insert_rows(self._db, "environments", [{**_table_row(e), "sha256": e.sha256} for e in record.environments])
        insert_rows(self._db, "designs", [_table_row(d, drop=("segments", "hint_segments")) for d in record.designs])
        insert_rows(self._db, "scores", [{**asdict(score), "cycle": cycle} for score in record.scores])
        insert_rows(self._db, "plays", [{**asdict(play), "cycle": cycle} for play in record.plays])
        insert_rows(self._db, "regrets", [{**asdict(regret), "cycle": cycle} for regret in record.regrets])
        insert_rows(self._db, "events", [{**asdict(event), "cycle": cycle} for event in record.events])
        metrics = [{"cycle": cycle, "name": name, "value": value} for name, value in record.metrics.items()]
        insert_rows(self._db, "metrics", metrics)

    def _sweep(self) -> None:
        """Set damaged checkpoints aside, and delete rows and files of cycles after the last intact one."""
        while (checkpoint := self.last_checkpoint()) is not None:
            why = torn(checkpoint.folder)
            if why is None:
                break
            self._set_aside(checkpoint, why)
        last = checkpoint.cycle if checkpoint else -1
        with self._db:
            for table in CYCLE_TABLES:
                self._db.execute(f"DELETE FROM {table} WHERE cycle > ?", (last,))
        kept = {folder.name for folder in self.checkpoints().values()}
        for folder in ("episodes", "sequences", "checkpoints"):
            for path in (self.path / folder).iterdir():
                numbered = path.stem.isdigit() and path.suffix != TORN
                # A kill can come between deleting a checkpoint's row and deleting its folder.
                pruned = folder == "checkpoints" and path.name not in kept
                if path.name.startswith(".") or (numbered and (pruned or int(path.stem) > last)):
                    shutil.rmtree(path) if path.is_dir() else path.unlink()

    def _set_aside(self, checkpoint: Checkpoint, why: str) -> None:
        """Rename the folder of a damaged checkpoint, so that a user can still look into it, and forget its row."""
        aside = checkpoint.folder.with_name(checkpoint.folder.name + TORN)
        if checkpoint.folder.exists():
            shutil.rmtree(aside, ignore_errors=True)
            checkpoint.folder.rename(aside)
        with self._db:
            self._db.execute("DELETE FROM checkpoints WHERE cycle = ?", (checkpoint.cycle,))
        self.notes.append(f"checkpoint {checkpoint.folder.name} is torn ({why}); set aside as {aside.name}")


def _table_row(record: Design | Environment, drop: tuple[str, ...] = ()) -> dict[str, Any]:
    """The columns of a record but those in ``drop``; tuples and dicts are stored as JSON."""
    row = {one.name: plain(getattr(record, one.name)) for one in fields(record) if one.name not in drop}
    return {key: json.dumps(value) if isinstance(value, tuple | dict) else value for key, value in row.items()}


def _check_free(path: Path) -> None:
    """Raise ``RunError`` if the directory holds a run with a stored cycle, or one that cannot be read."""
    if not (path / "run.sqlite").exists():
        return
    store = RunStore.read(path)
    try:
        cycles = store.query("SELECT 1 FROM metrics LIMIT 1")
    finally:
        store.close()
    if cycles:
        raise RunError(f"{path} holds a run already; add --resume to go on with it, or give another --run folder")
