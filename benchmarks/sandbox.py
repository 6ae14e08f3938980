"""What the sandbox costs, against its bars: ``python benchmarks/sandbox.py [--quick] [--json]``.

Ratios compare two ways of running the same program in the same process, one after the other. CPU is that of this
process and everything below it.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

from figures import Figure, least, most, report, told

from spadework.envs.sandbox.base import Limits, Step
from spadework.envs.sandbox.forkserver.client import ForkServer, PoolLimits
from spadework.envs.sandbox.forkserver.instance import Instance
from spadework.envs.sandbox.process import ProcessSandbox
from spadework.errors import FaultError

LIGHT = """
class LightEnv:
    def reset(self, seed=None):
        return "ready", {}
    def step(self, action):
        return "again", 0.0, False, False, {}
"""
TYPICAL = '''
import random
from collections import deque

class MazeEnv:
    """Walk a maze to its exit. Each observation draws it and tells the distance that is left."""

    def __init__(self):
        self.max_turns = 10 ** 9

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.size, self.turns = 16, 0
        cells = [(x, y) for x in range(self.size) for y in range(self.size)]
        self.walls = set(rng.sample(cells, 40)) - {(0, 0), (self.size - 1, self.size - 1)}
        self.at, self.exit = (0, 0), (self.size - 1, self.size - 1)
        return self.draw(), {"size": self.size}

    def distance(self):
        seen, queue = {self.at}, deque([(self.at, 0)])
        while queue:
            (x, y), steps = queue.popleft()
            if (x, y) == self.exit:
                return steps
            for cell in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
                inside = 0 <= cell[0] < self.size and 0 <= cell[1] < self.size
                if inside and cell not in self.walls and cell not in seen:
                    seen.add(cell)
                    queue.append((cell, steps + 1))
        return None

    def draw(self):
        rows = []
        for y in range(self.size):
            marks = ["#" if (x, y) in self.walls else "." for x in range(self.size)]
            rows.append("".join("@" if (x, y) == self.at else mark for x, mark in enumerate(marks)))
        return "\\n".join([*rows, f"distance to the exit: {self.distance()}"])

    def step(self, action):
        self.turns += 1
        move = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}.get(action.strip().lower())
        if move is None:
            return "say up, down, left or right", -0.1, False, False, {"turn": self.turns}
        cell = self.at[0] + move[0], self.at[1] + move[1]
        if cell not in self.walls and 0 <= cell[0] < self.size and 0 <= cell[1] < self.size:
            self.at = cell
        won = self.at == self.exit
        return self.draw(), 1.0 if won else 0.0, won, False, {"turn": self.turns}
'''
HOG = """
class HogEnv:
    def reset(self, seed=None):
        return "ready"
    def step(self, action):
        while True: pass
"""
MOVES = ("right", "down", "right", "down", "left", "up")


def tree_cpu() -> float:
    """CPU seconds of this process and all below it, the reaped included."""
    parents, burnt = {}, {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = entry.read_text()
        except OSError:
            continue
        fields = text.rpartition(")")[2].split()
        pid = int(entry.parent.name)
        parents[pid], burnt[pid] = int(fields[1]), sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    total, level = 0.0, {os.getpid()}
    while level:
        total += sum(burnt[pid] for pid in level)
        level = {pid for pid, parent in parents.items() if parent in level}
    return total


def on_cpu(pid: int) -> float:
    """CPU seconds of one live process, exactly."""
    return time.clock_gettime((~pid << 3) | 2)


@contextmanager
def measured() -> Iterator[SimpleNamespace]:
    """Wall and CPU seconds of what happens inside."""
    spent = SimpleNamespace(wall=time.perf_counter(), cpu=tree_cpu())
    yield spent
    spent.wall, spent.cpu = time.perf_counter() - spent.wall, tree_cpu() - spent.cpu


async def many(count: int, at_once: int, work: Callable[[int], Awaitable[None]]) -> None:
    """``count`` pieces of work, ``at_once`` at a time."""
    gate = asyncio.Semaphore(at_once)

    async def one(number: int) -> None:
        async with gate:
            await work(number)

    await asyncio.gather(*(one(number) for number in range(count)))


async def starts(quick: bool) -> list[Figure]:
    """Open, reset and kill: the fork server against fresh confined interpreters."""
    rates = {}
    for sandbox, count in ((ProcessSandbox(), 20 if quick else 60), (ForkServer(), 600 if quick else 2000)):
        async with sandbox:

            async def work(number: int, sandbox: Any = sandbox) -> None:
                session = await sandbox.open(TYPICAL, Limits())
                await session.reset(number)
                await session.close()

            await many(4, 2, work)
            with measured() as spent:
                await many(count, 8, work)
        rates[type(sandbox)] = count / spent.wall, count / spent.cpu
    (fresh, fresh_cpu), (forked, forked_cpu) = rates[ProcessSandbox], rates[ForkServer]
    return [
        told("instances a second, fresh interpreter", fresh, "1/s"),
        told("instances a second, fork server", forked, "1/s"),
        least("instances a second against a fresh interpreter", forked / fresh, "x", 6),
        least("instances a CPU second against a fresh interpreter", forked_cpu / fresh_cpu, "x", 8),
    ]


async def one_start(quick: bool) -> list[Figure]:
    """CPU of a play's start: what zygote, template and child burn until the child is ready."""
    async with ForkServer(PoolLimits(zygotes=1)) as sandbox:
        first = await sandbox.open(TYPICAL, Limits())
        (server,) = (task.result() for task in sandbox._zygotes.values())
        (template,) = (each.instance for each in sandbox._templates.values())
        zygote = min(_children(server._process.pid)) if server.layers["namespaces"][0] else server._process.pid
        count, child = 100 if quick else 500, 0.0
        before = on_cpu(zygote) + on_cpu(template.pid)
        for _ in range(count):
            session = await sandbox.open(TYPICAL, Limits())
            child += session.cpu()
            await session.close()
        total = on_cpu(zygote) + on_cpu(template.pid) - before + child
        await first.close()
    return [most("CPU of a play's start", 1000 * total / count, "ms", 1.5)]


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def in_process(source: str, count: int) -> float:
    """CPU seconds a step without any sandbox."""
    namespace: dict[str, Any] = {"__name__": "program"}
    exec(source, namespace)
    env = next(value for name, value in namespace.items() if name.endswith("Env"))()
    env.reset(seed=1)
    start = time.process_time()
    for number in range(count):
        env.step(MOVES[number % len(MOVES)])
    return (time.process_time() - start) / count


async def stepping(source: str, count: int, players: int = 16) -> tuple[float, float]:
    """Wall and CPU seconds a step through asyncio, ``players`` at once."""
    async with ForkServer() as sandbox:
        sessions = [await sandbox.open(source, Limits()) for _ in range(players)]
        await asyncio.gather(*(session.reset(1) for session in sessions))

        async def play(session: Instance, steps: int) -> None:
            for number in range(steps):
                await session.step(MOVES[number % len(MOVES)])

        await asyncio.gather(*(play(session, 50) for session in sessions))
        cpu = time.process_time() + sum(session.cpu() for session in sessions)
        wall = time.perf_counter()
        await asyncio.gather(*(play(session, count // players) for session in sessions))
        wall = time.perf_counter() - wall
        cpu = time.process_time() + sum(session.cpu() for session in sessions) - cpu
    return wall / count, cpu / count


async def steps(quick: bool) -> list[Figure]:
    """What a step costs above the program's own work."""
    count = 8_000 if quick else 40_000
    light, typical = in_process(LIGHT, count * 10), in_process(TYPICAL, count // 4)
    light_wall, light_cpu = await stepping(LIGHT, count)
    typical_wall, typical_cpu = await stepping(TYPICAL, count)
    return [
        told("light steps a second, asyncio", 1 / light_wall, "1/s"),
        most("CPU overhead of a light step", 1e6 * (light_cpu - light), "us", 75),
        told("typical steps a second, asyncio", 1 / typical_wall, "1/s"),
        told("CPU of a typical step in process", 1e6 * typical, "us"),
        least("typical steps a CPU second against in process", typical / typical_cpu, "x", 0.4),
    ]


async def overshoot(quick: bool) -> list[Figure]:
    """CPU beyond the limit when a loop is stopped, with four hogs beside it."""
    limit, over = 0.2, []
    async with ForkServer() as sandbox:
        hogs = [await sandbox.open(HOG, Limits(cpu_seconds=30, wall_seconds=120)) for _ in range(4)]
        for hog in hogs:
            await hog.reset(1)
        running = [asyncio.ensure_future(hog.step("x")) for hog in hogs]
        for _ in range(8 if quick else 40):
            session = await sandbox.open(HOG, Limits(cpu_seconds=limit, wall_seconds=60))
            await session.reset(1)
            try:
                await session.step("x")
            except FaultError as error:
                used = re.match(r"[\d.]+", error.fault.message)
                assert used is not None
                over.append(1000 * (float(used[0]) - limit))
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    return [
        told("overshoot of the CPU limit, median", median(over), "ms"),
        most("overshoot of the CPU limit, largest", max(over), "ms", 50),
    ]


async def crowd(quick: bool) -> list[Figure]:
    """Two thousand live instances, and the memory of an idle one."""
    count = 2000
    async with ForkServer() as sandbox:
        opened = (sandbox.open(TYPICAL, Limits()) for _ in range(count))
        outcomes = await asyncio.gather(*opened, return_exceptions=True)
        sessions = [session for session in outcomes if isinstance(session, Instance)]
        await asyncio.gather(*(session.reset(number) for number, session in enumerate(sessions)))
        steps = await asyncio.gather(*(session.step("right") for session in sessions), return_exceptions=True)
        played = sum(isinstance(step, Step) for step in steps)
        private = [
            size for session in sessions[:: 50 if quick else 10] if (size := private_mib(session.pid)) is not None
        ]
    figures = [least("live instances that all play", played, "instances", count)]
    return figures + ([most("private memory of an idle instance", median(private), "MiB", 3)] if private else [])


def private_mib(pid: int) -> float | None:
    """Memory that no other process shares; None where the host hides it from us."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return None
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


def measure(quick: bool) -> Iterator[Figure]:
    """All figures."""
    for part in (starts, one_start, steps, overshoot, crowd):
        yield from asyncio.run(part(quick))


if __name__ == "__main__":
    raise SystemExit(report(__doc__, measure))
