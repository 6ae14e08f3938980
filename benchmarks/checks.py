"""Two thousand checks in one go: environments a second, whether memory stays flat, and what a check costs in starts.

Every program is one of the bundled examples with a comment of its own, so that no cache knows it, run through the whole
check: static rules, six seeds twice, the panel of oracle, no-op, random and copying players, and the graders.

The cost is the CPU of a check over that of starting the same programs once, which is the unit in which plays are paid
for too. Before the checker looked for hopeless tasks, told answers and graders that pay for anything, a check took 23
starts for a game and 56 for a tool world, by this script on the same machine; the bars allow a third more.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import cycle, islice
from pathlib import Path

from figures import Figure, most, report, told
from sandbox import measured

from spadework.envs.check.findings import Finding, fatal
from spadework.envs.check.program import check_program, in_order
from spadework.envs.check.runtime import RuntimeChecks
from spadework.envs.sandbox.forkserver.client import ForkServer
from spadework.resources import shipped

JOBS = 8
SLICES = 10
PRICED = 24
"""Programs of each domain whose checks are compared with starts."""
STARTS = 10
"""Starts of each of them."""
TURNS = 4
"""Times that both are measured; the least counts."""


def bundled(*folders: str) -> list[str]:
    """The sources of bundled examples."""
    root = shipped("examples") / "environments"
    return [path.read_text("utf-8") for path in sorted(path for name in folders for path in (root / name).glob("*.py"))]


def programs(count: int) -> Iterator[str]:
    """Bundled examples of both domains in turn, each with a number of its own."""
    sources = bundled("games", "tool_use")
    for number, source in enumerate(islice(cycle(sources), count)):
        yield f"{source}\n# number {number}\n"


def tree_mib() -> float:
    """Proportional memory of this process and all below it."""
    below, todo = set[int](), [os.getpid()]
    while todo:
        pid = todo.pop()
        below.add(pid)
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            todo += [int(word) for word in _read(task).split()]
    lines = [line for pid in below for line in _read(Path(f"/proc/{pid}/smaps_rollup")).splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


async def price(folder: str) -> float:
    """CPU of checking programs of ``folder``, over the CPU of starting each once."""
    sources, settings = bundled(folder)[:PRICED], RuntimeChecks(seeds=6)
    async with ForkServer() as sandbox:
        await _start(sandbox, sources[0])
        checks, starts = [], []
        for turn in range(TURNS):
            new = [f"{source}\n# turn {turn}\n" for source in sources]
            with measured() as spent:
                async for _ in in_order(new, lambda source: check_program(sandbox, source, settings), JOBS):
                    pass
            checks.append(float(spent.cpu))
            with measured() as spent:
                async for _ in in_order(new * STARTS, lambda source: _start(sandbox, source), JOBS):
                    pass
            starts.append(float(spent.cpu) / STARTS)
    return min(checks) / min(starts)


async def _start(sandbox: ForkServer, source: str) -> None:
    await (await sandbox.open(source, RuntimeChecks().limits)).close()


async def _checked(count: int) -> AsyncIterator[tuple[Finding, ...]]:
    """What is fatal to each program, in order."""
    settings = RuntimeChecks(seeds=6)
    async with ForkServer() as sandbox:
        results = in_order(programs(count), lambda source: check_program(sandbox, source, settings), JOBS)
        async for _, checked in results:
            if isinstance(checked, Exception):
                raise checked
            yield tuple(fatal(checked.findings))


async def run(count: int) -> list[Figure]:
    """Check ``count`` programs."""
    memory: list[float] = []
    began, done, rejected = time.perf_counter(), 0, 0
    async for findings in _checked(count):
        done, rejected = done + 1, rejected + bool(findings)
        for finding in findings:
            print(f"program {done}: {finding}", file=sys.stderr)
        if done % (count // SLICES) == 0:
            memory.append(tree_mib())
    seconds = time.perf_counter() - began
    early, late = statistics.mean(memory[1:4]), statistics.mean(memory[-3:])
    return [
        told("programs checked", count, ""),
        told("checks a second", count / seconds, "1/s"),
        most("rejected, of programs that are good", float(rejected), "", 0),
        told("memory of all processes, at its end", late, "MiB"),
        most("memory, last 30 % of the run over its early 30 %", late / early, "x", 1.1),
    ]


def measure(quick: bool) -> Iterable[Figure]:
    """All figures."""
    return [
        most("a game's check, in starts of it", asyncio.run(price("games")), "starts", 30),
        most("a tool world's check, in starts of it", asyncio.run(price("tool_use")), "starts", 74),
        *asyncio.run(run(200 if quick else 2_000)),
    ]


if __name__ == "__main__":
    raise SystemExit(report(__doc__, measure))
