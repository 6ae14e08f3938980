"""Files that are either whole or absent: written aside, flushed to disk, renamed; folders with checksums."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

MANIFEST = "manifest.json"


def write_whole(target: Path, write: Callable[[Path], None]) -> None:
    """Let ``write`` make a file beside ``target`` and rename it into place once it is on disk."""
    temporary = target.with_name(f".{target.name}.tmp")
    try:
        write(temporary)
        _flush(temporary)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _flush(target.parent)


def write_folder(target: Path, write: Callable[[Path], None]) -> None:
    """The same for a folder; its files are listed with sizes and SHA-256 in ``manifest.json``."""
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
    """Hold the lock file ``path``, having waited until no other process does."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def torn(folder: Path) -> str | None:
    """Why a folder of ``write_folder`` cannot be trusted; ``None`` when every checksum holds."""
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
