"""What may happen to a run: the blows that ``driver`` deals, each to the process that trains or to the files it left.

A blow to the process strikes at a moment that the seed chooses. A blow to files kills the process first, as a machine
that loses its power does, and then spoils what lies on the disk.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Process = subprocess.Popen[str]


@dataclass(frozen=True)
class Blow:
    """One kind of blow."""

    name: str
    strike: Callable[[Path, Process, random.Random], Path | None]
    """Gets the run's folder and its process; returns the file that it spoilt, if any."""
    after: Literal["goes on", "may be refused"] = "goes on"
    """Whether the run must go on by itself afterwards, or may also refuse to and name the file."""


def _kill(run: Path, process: Process, rng: random.Random) -> None:
    process.kill()
    process.wait()


def _terminate(run: Path, process: Process, rng: random.Random) -> None:
    process.terminate()


def _interrupt(run: Path, process: Process, rng: random.Random) -> None:
    process.send_signal(signal.SIGINT)


def _stop_the_clock(run: Path, process: Process, rng: random.Random) -> None:
    """The process stands still for a while, as on a laptop that sleeps, and its clocks jump."""
    process.send_signal(signal.SIGSTOP)
    time.sleep(1.0)
    process.send_signal(signal.SIGCONT)


def _kill_a_child(run: Path, process: Process, rng: random.Random) -> None:
    below = descendants(process.pid)
    if below:
        _end(rng.choice(below))


def _kill_all_children(run: Path, process: Process, rng: random.Random) -> None:
    for child in descendants(process.pid):
        _end(child)


def _truncate_the_newest(run: Path, process: Process, rng: random.Random) -> Path | None:
    """The file that was written last ends in the middle."""
    _kill(run, process, rng)
    files = sorted(_files(run), key=lambda file: file.stat().st_mtime_ns)
    return _cut(files[-1], rng) if files else None


def _half_a_line_of_metrics(run: Path, process: Process, rng: random.Random) -> Path | None:
    _kill(run, process, rng)
    return _cut(run / "metrics.jsonl", rng)


def _torn_checkpoint(run: Path, process: Process, rng: random.Random) -> Path | None:
    _kill(run, process, rng)
    files = [file for file in _files(run) if "checkpoints" in file.parts]
    return _flip(rng.choice(files), rng) if files else None


def _torn_episodes(run: Path, process: Process, rng: random.Random) -> Path | None:
    _kill(run, process, rng)
    files = [file for file in _files(run) if file.suffix == ".parquet"]
    return _flip(rng.choice(files), rng) if files else None


def _torn_database(run: Path, process: Process, rng: random.Random) -> Path | None:
    _kill(run, process, rng)
    return _flip(run / "run.sqlite", rng)


def _litter(run: Path, process: Process, rng: random.Random) -> None:
    """Files that no cycle committed, as a process leaves that dies while it writes."""
    _kill(run, process, rng)
    for name in ("episodes/00077.parquet", "sequences/.00001.tmp", "checkpoints/.00001.tmp/weights"):
        file = run / name
        if run.is_dir():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(rng.randbytes(100))


BLOWS = (
    Blow("killed", _kill),
    Blow("terminated", _terminate),
    Blow("interrupted", _interrupt),
    Blow("stopped for a second", _stop_the_clock),
    Blow("a child of the sandbox killed", _kill_a_child),
    Blow("all children killed", _kill_all_children),
    Blow("litter", _litter),
    Blow("half a line of metrics", _half_a_line_of_metrics),
    Blow("newest file cut", _truncate_the_newest, "may be refused"),
    Blow("a checkpoint torn", _torn_checkpoint, "may be refused"),
    Blow("episodes or rows torn", _torn_episodes, "may be refused"),
    Blow("database torn", _torn_database, "may be refused"),
)


def descendants(pid: int) -> list[int]:
    """Processes below ``pid``, nearest first."""
    found: list[int] = []
    level = [pid]
    while level:
        level = [child for parent in level for child in _children(parent)]
        found += level
    return found


def _children(pid: int) -> list[int]:
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for thread in threads for child in (thread / "children").read_text().split()]
    except OSError:
        return []  # it has ended


def _end(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _files(run: Path) -> list[Path]:
    return [file for file in run.rglob("*") if file.is_file() and file.stat().st_size] if run.is_dir() else []


def _cut(file: Path, rng: random.Random) -> Path | None:
    if not file.is_file() or not file.stat().st_size:
        return None
    os.truncate(file, rng.randrange(file.stat().st_size))
    return file


def _flip(file: Path, rng: random.Random) -> Path | None:
    """Overwrite some bytes in the middle of a file."""
    if not file.is_file() or file.stat().st_size < 8:
        return None
    data = bytearray(file.read_bytes())
    start = rng.randrange(len(data) - 4)
    for index in range(start, min(start + 64, len(data))):
        data[index] ^= 0xFF
    file.write_bytes(data)
    return file
