"""A run's SQLite file: opened to write, opened to read where nothing may be written, and brought up to date."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from spadework.errors import RunError


def connect_to_write(file: Path) -> sqlite3.Connection:
    """Open or make the file. The connection may move between threads, one at a time."""
    database = sqlite3.connect(file, timeout=30, check_same_thread=False)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    return database


def connect_to_read(file: Path) -> sqlite3.Connection:
    """Open the file to look at, also while another process writes it. Raises ``RunError`` where that is impossible.

    A database in WAL mode has two files beside it (``-wal``, ``-shm``) while anyone has it open, and a reader must be
    able to make them or find them there. In a folder that may not be written:

    * with a ``-wal`` file, a writer is at work, or was killed: ``mode=ro`` reads through the ``-shm`` file it left;
    * without one, nobody has the database open, so it can be read as a file that does not change.
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
    """Add the tables and columns of ``schema`` that an older version did not have."""
    database.executescript(schema)
    with closing(sqlite3.connect(":memory:")) as model:
        model.executescript(schema)
        for (table,) in model.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            there = {row[1] for row in database.execute(f"PRAGMA table_info({table})")}
            for _, name, kind, *_ in model.execute(f"PRAGMA table_info({table})"):
                if name not in there:
                    database.execute(f"ALTER TABLE {table} ADD COLUMN {name} {kind}")


def insert_rows(database: sqlite3.Connection, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows, each with its own columns."""
    for row in rows:
        names, marks = ", ".join(row), ", ".join("?" * len(row))
        database.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(row.values()))
