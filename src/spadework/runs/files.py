"""Atomic writes of files and folders, folders with checksums, and file locks.

An atomic write goes to a temporary file, which is flushed to disk and then renamed into place. So a file is complete or
absent, whenever the process is killed.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import hashlib
import json
import os
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import IO

from spadework.errors import RunError

MANIFEST = "manifest.json"
_POLL_SECONDS = 0.2
"""Seconds between two attempts to take a lock that another process holds."""
_OF_THE_DISK = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO),
    *(errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ENOENT, errno.ENAMETOOLONG),
}
"""Error numbers that concern a folder or disk, unlike other system errors such as those of connections."""


def write_whole(target: Path, write: Callable[[Path], None]) -> None:
    """Write a file atomically: ``write`` creates a temporary file, which becomes ``target`` once it is on disk."""
    temporary = target.with_name(f".{target.name}.tmp")
    try:
        write(temporary)
        _flush(temporary)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _flush(target.parent)


def write_text(target: Path, text: str) -> None:
    """Write a text atomically, in UTF-8, without changing its line ends."""

    def write(aside: Path) -> None:
        aside.write_text(text, encoding="utf-8", newline="")

    write_whole(target, write)


def write_folder(target: Path, write: Callable[[Path], None]) -> None:
    """Write a folder atomically. Its ``manifest.json`` lists the files with sizes and SHA-256 sums."""
    temporary = target.with_name(f".{target.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir(parents=True)
        write(temporary)
        sums = {str(path.relative_to(temporary)): _sum(path) for path in sorted(temporary.rglob("*")) if path.is_file()}
        (temporary / MANIFEST).write_text(json.dumps(sums, indent=1))
        for path in temporary.rglob("*"):
            _flush(path)
        shutil.rmtree(target, ignore_errors=True)
        temporary.replace(target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    _flush(target.parent)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait for the lock file ``path``, and hold it within the context."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@asynccontextmanager
async def lock_when_free(path: Path, on_wait: Callable[[], None]) -> AsyncIterator[None]:
    """``locked`` for coroutines: the wait does not block the event loop, and can be cancelled.

    ``on_wait`` is called once if another process holds the lock, so that the user can be told.
    """
    with path.open("a") as file:
        waiting = False
        while not _take(file):
            if not waiting:
                on_wait()
            waiting = True
            await asyncio.sleep(_POLL_SECONDS)
        yield


def take_lock(folder: Path) -> IO[str]:
    """Lock a run directory for as long as the returned file stays open. Raises ``RunError`` if it is locked already."""
    lock = (folder / "lock").open("a+")
    if not _take(lock):
        lock.close()
        raise RunError(f"{folder}: another process is writing this run")
    return lock


def _take(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def on_disk(path: Path, advice: str) -> Iterator[None]:
    """Turn errors such as a full disk or missing rights into a ``RunError`` with ``path`` and ``advice``."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if not any(word in str(error) for word in ("full", "disk", "readonly", "unable to open")):
            raise
        raise RunError(f"{path} cannot be written: {error}. {advice}") from error
    except OSError as error:
        if error.errno not in _OF_THE_DISK:
            raise
        raise RunError(f"{path} cannot be written: {error.strerror}. {advice}") from error


def torn(folder: Path) -> str | None:
    """Why a folder written by ``write_folder`` is damaged; ``None`` when every checksum holds."""
    try:
        sums = json.loads((folder / MANIFEST).read_text())
        for name, expected in sums.items():
            if _sum(folder / name) != expected:
                return f"{name} does not match its checksum"
    except (OSError, ValueError) as error:
        return str(error)
    return None


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
