"""Merges mappings of memory: each costs every fork and exit some microseconds, and a library has five."""

from __future__ import annotations

import re
from typing import NamedTuple

from . import kernel

LINE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (....) ([0-9a-f]+) (\S+) [0-9]+\s+(/.*)")
READ, WRITE, EXECUTE = 1, 2, 4


def merge() -> None:
    """Give neighbouring parts of a library the same rights, which makes one mapping of them.

    Constants become executable like the code beside them, and what the loader has made read-only is writable again,
    as it is before. Nothing becomes both writable and executable. No boundary rests on these rights: a program's
    process is its own.
    """
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        parts = [_part(line) for line in file]
    for before, part, after in zip([None, *parts], parts, [*parts[1:], None], strict=False):
        if part is None or part.rights != "r--p":
            continue
        if after is not None and after.rights == "rw-p" and part.meets(after):
            kernel.protect(part.start, part.end - part.start, READ | WRITE)
        elif any(other.rights == "r-xp" for other in (before, after) if other is not None and part.meets(other)):
            kernel.protect(part.start, part.end - part.start, READ | EXECUTE)


class Part(NamedTuple):
    """One mapping of a file."""

    start: int
    end: int
    rights: str
    offset: int
    file: tuple[str, str]

    def meets(self, other: Part) -> bool:
        """Return whether both are parts of one file and as far apart in memory as in the file."""
        return self.file == other.file and other.start - self.start == other.offset - self.offset


def _part(line: str) -> Part | None:
    match = LINE.match(line)
    if match is None:
        return None
    start, end, rights, offset, device, path = match.groups()
    return Part(int(start, 16), int(end, 16), rights, int(offset, 16), (device, path))
