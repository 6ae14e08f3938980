"""Work that is done again whenever a file changes: what ``check --watch`` waits by."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from spadework.cli.failures import one_line

LOOK_SECONDS = 0.5
"""How often the files are looked at."""

Stamp = tuple[int, int]
"""Time of the last change in nanoseconds, and size in bytes."""


def watch(paths: list[Path], work: Callable[[list[Path]], int], sleep: Callable[[float], None] = time.sleep) -> int:
    """Do ``work`` on ``paths``, and again on each file among them that changes or appears, until Ctrl-C.

    An error that a user can mend is printed, and the files are watched on. Returns 0.
    """
    seen = stamps(paths)
    _do(work, paths)
    try:
        while True:
            sleep(LOOK_SECONDS)
            now = stamps(paths)
            changed = [path for path, stamp in now.items() if seen.get(path) != stamp]
            seen = now
            if changed:
                _do(work, changed)
    except KeyboardInterrupt:
        return 0


def stamps(paths: list[Path]) -> Mapping[Path, Stamp]:
    """The files among ``paths``, and the programs in the folders among them, with their stamps."""
    found = {}
    for path in paths:
        for file in _files(path):
            try:
                status = file.stat()
            except OSError:
                continue  # an editor replaces a file by removing it first
            found[file] = (status.st_mtime_ns, status.st_size)
    return found


def _files(path: Path) -> Iterator[Path]:
    return path.rglob("*.py") if path.is_dir() else iter((path,))


def _do(work: Callable[[list[Path]], int], paths: list[Path]) -> None:
    try:
        work(paths)
    except Exception as error:
        told = one_line(error)
        if told is None:
            raise
        print(f"spadework check: {told}", file=sys.stderr)
    print("Watching for changes; Ctrl-C ends.", file=sys.stderr, flush=True)
