"""A run's SQLite file: open it for writing, open it for reading in a read-only folder, and migrate its schema."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from spadework.errors import RunError

FORMAT = 2
"""Version of the format of run directories and checkpoint states. Version 0.1 wrote none; that is format 1."""
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


def connect_to_write(file: Path) -> sqlite3.Connection:
    """Open or create the file. Several threads may use the connection, but only one at a time."""
    database = sqlite3.connect(file, timeout=30, check_same_thread=False)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    return database


def connect_to_read(file: Path) -> sqlite3.Connection:
    """Open the file for reading, even while another process writes it. Raises ``RunError`` where that is impossible.

    While a database in WAL mode is open, two files (``-wal``, ``-shm``) stand beside it, and a reader must be able to
    create or find them. In a folder without write permission there are two cases:

    * There is a ``-wal`` file, so a writer is at work or was killed. ``mode=ro`` reads through the writer's ``-shm``.
    * There is none, so no process has the database open. ``immutable=1`` reads it as a file that does not change.
    """
    if os.access(file, os.W_OK) and os.access(file.parent, os.W_OK):
        mode = "mode=rw"
    elif file.with_name(f"{file.name}-wal").exists():
        mode = "mode=ro"
    else:
        mode = "mode=ro&immutable=1"
    try:
        database = sqlite3.connect(
            f"file:{quote(str(file.resolve()))}?{mode}", uri=True, timeout=30, check_same_thread=False
        )
        database.execute("PRAGMA query_only = ON")
        database.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.Error as error:
        raise RunError(
            f"{file} cannot be read: {error}. If the folder is not yours to write, copy the whole run and read the copy"
        ) from error
    return database


def bring_up_to_date(database: sqlite3.Connection, schema: str) -> None:
    """Add the tables and columns of ``schema`` that are missing from a database of an older version."""
    database.executescript(schema)
    with closing(sqlite3.connect(":memory:")) as model:
        model.executescript(schema)
        for (table,) in model.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            there = {row[1] for row in database.execute(f"PRAGMA table_info({table})")}
            for _, name, kind, *_ in model.execute(f"PRAGMA table_info({table})"):
                if name not in there:
                    database.execute(f"ALTER TABLE {table} ADD COLUMN {name} {kind}")


def insert_rows(database: sqlite3.Connection, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows. The keys of each row name its columns."""
    for row in rows:
        names, marks = ", ".join(row), ", ".join("?" * len(row))
        database.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(row.values()))


def check_known(path: Path, form: int) -> None:
    """Raise ``RunError`` if a format is newer than this version of the package can read."""
    if form > FORMAT:
        raise RunError(
            f"{path} was written by a newer version of spadework (format {form}, this version knows {FORMAT}): "
            "install that version to open it"
        )
