"""What outlives what: nothing leaks, whoever is killed."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sandbox_conformance import GAME, LIMITS, step_of

from spadework.envs.sandbox.base import Limits, Sandbox, Step
from spadework.envs.sandbox.forkserver import audit, support
from spadework.envs.sandbox.forkserver.client import ForkServer, PoolLimits
from spadework.envs.sandbox.forkserver.instance import Instance
from spadework.envs.sandbox.forkserver.kernel_facts import BROKEN, LOST, POOL_MEMORY
from spadework.envs.sandbox.process import ProcessSandbox
from spadework.errors import ProgramError, SandboxError

BAD = "class BadEnv:\n    def __init__(self):\n        1 / 0\n"
SPIN = step_of("while True: pass")


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def descendants(root: int = os.getpid()) -> set[int]:
    """Processes below ``root``."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            parents[int(entry.parent.name)] = int(fields[1])
    found, fresh = set(), {root}
    while fresh:
        fresh = {pid for pid, parent in parents.items() if parent in fresh}
        found |= fresh
    return found


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


async def until(condition: object, seconds: float = 30.0) -> None:
    """Wait for ``condition`` to hold."""
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "it never came about"
        await asyncio.sleep(0.02)


async def churn(sandbox: Sandbox, count: int) -> None:
    """Open, play and end ``count`` instances in every way there is."""
    gate = asyncio.Semaphore(16)

    async def one(number: int) -> None:
        async with gate:
            try:
                session = await sandbox.open(BAD if number % 50 == 0 else GAME, LIMITS)
                await session.reset(number)
                if number % 3:
                    await session.step("x")
                await session.close()
            except ProgramError as error:
                assert error.fault.code == "ENV003"

    for start in range(0, count, 500):
        await asyncio.gather(*(one(number) for number in range(start, min(start + 500, count))))


@pytest.mark.parametrize("count", [1000, pytest.param(20_000, marks=pytest.mark.slow)])
async def test_nothing_leaks(count: int) -> None:
    outside, processes = descriptors(), len(descendants())
    async with ForkServer(PoolLimits(zygotes=2)) as sandbox:
        await churn(sandbox, 500)
        gc.collect()
        open_files, memory = descriptors(), resident()
        await churn(sandbox, count)
        gc.collect()
        await until(lambda: len([instance for instance in sandbox.live() if not instance.forks]) == 0)
        assert descriptors() <= open_files + 2
        assert resident() - memory < 8 << 20
    await until(lambda: len(descendants()) <= processes)
    assert descriptors() <= outside + 2


async def test_the_reference_leaks_nothing_either() -> None:
    outside, processes = descriptors(), len(descendants())
    async with ProcessSandbox() as sandbox:
        await churn(sandbox, 20)
        assert descriptors() <= outside + 2
    await until(lambda: len(descendants()) <= processes)


async def test_a_zygote_that_dies_gives_typed_faults_and_comes_back() -> None:
    async with ForkServer(PoolLimits(zygotes=1)) as sandbox:
        sessions = [await sandbox.open(SPIN if number == 0 else GAME, LIMITS) for number in range(4)]
        await asyncio.gather(*(session.reset(1) for session in sessions))
        stuck = asyncio.ensure_future(sessions[0].step("x"))
        await asyncio.sleep(0.1)
        (zygote,) = [task.result() for task in sandbox._zygotes.values()]
        pids = [session.pid for session in sessions]
        os.kill(zygote._process.pid, signal.SIGKILL)
        with pytest.raises(SandboxError, match=LOST):
            await stuck
        for session in sessions[1:]:
            with pytest.raises(SandboxError, match=LOST):
                await session.step("x")
        await until(lambda: not descendants() & set(pids))
        again = await sandbox.open(GAME, LIMITS)
        assert (await again.reset(1)).observation


async def test_children_killed_from_outside_are_lost_and_the_others_play_on() -> None:
    async with ForkServer(PoolLimits(zygotes=1)) as sandbox:
        sessions = [await sandbox.open(GAME, LIMITS) for _ in range(8)]
        await asyncio.gather(*(session.reset(1) for session in sessions))
        for session in sessions[::2]:
            os.kill(session.pid, signal.SIGKILL)
        outcomes = await asyncio.gather(*(session.step("x") for session in sessions), return_exceptions=True)
        assert all(isinstance(outcome, SandboxError) for outcome in outcomes[::2])
        assert all(isinstance(outcome, Step) for outcome in outcomes[1::2])


HOST = """
import asyncio, sys
from spadework.envs.sandbox.forkserver.client import ForkServer, PoolLimits
from spadework.envs.sandbox.process import ProcessSandbox
from spadework.envs.sandbox.base import Limits
source = {source!r}
async def main():
    sandbox = {sandbox}
    sessions = [await sandbox.open(source, Limits()) for _ in range(4)]
    for session in sessions: await session.reset(1)
    print(*[session.pid for session in sessions], flush=True)
    await asyncio.gather(*(session.step("x") for session in sessions))
asyncio.run(main())
"""


@pytest.mark.parametrize("sandbox", ["ForkServer()", "ForkServer(without=['namespaces'])", "ProcessSandbox()"])
async def test_a_killed_host_leaves_no_orphan(sandbox: str) -> None:
    """Not even of programs that were looping."""
    host = subprocess.Popen(
        [sys.executable, "-c", HOST.format(source=SPIN, sandbox=sandbox)], stdout=subprocess.PIPE, text=True
    )
    assert host.stdout is not None
    pids = {int(pid) for pid in host.stdout.readline().split()} | descendants(host.pid)
    assert len(pids) >= 4
    await asyncio.sleep(0.3)  # let them loop
    host.kill()
    host.wait()
    host.stdout.close()
    await until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))


async def test_idle_instances_that_burn_cpu_are_killed() -> None:
    body = "import sys\nfor n, m in list(sys.modules.items()):\n    if n.endswith('runner'): m._receive = lambda *_: any(0 for _ in iter(int, 1))\n"
    async with ForkServer(PoolLimits(zygotes=1)) as sandbox:
        session = await sandbox.open(step_of(body + "return 'bye', 0, False, False, {}"), LIMITS)
        await session.reset(1)
        assert (await session.step("x")).observation == "bye"
        await until(lambda: session.fault is not None)
        with pytest.raises(ProgramError, match="ran on after its reply"):
            await session.step("x")


async def test_the_pool_has_a_memory_cap() -> None:
    async with ForkServer(PoolLimits(zygotes=1)) as sandbox:
        hoard = step_of("self.hoard = bytearray(int(action) << 20)\nreturn 'x', 0, False, False, {}")
        small, large = await sandbox.open(hoard, LIMITS), await sandbox.open(hoard, LIMITS)
        for session, size in ((small, "1"), (large, "100")):
            await session.reset(1)
            await session.step(size)
        audit.check_memory(sandbox.live(), 1 << 40)
        assert small.fault is None and large.fault is None
        audit.check_memory(sandbox.live(), 90 << 20)
        with pytest.raises(SandboxError, match=POOL_MEMORY):
            await large.step("1")
        assert (await small.step("1")).observation == "x"


async def test_opening_waits_for_a_free_slot() -> None:
    async with ForkServer(PoolLimits(instances=2, zygotes=1)) as sandbox:
        first, second = await sandbox.open(GAME, LIMITS), await sandbox.open(GAME, LIMITS)
        third = asyncio.ensure_future(sandbox.open(GAME, LIMITS))
        await asyncio.sleep(0.1)
        assert not third.done()
        await first.close()
        await (await asyncio.wait_for(third, 5)).close()
        await second.close()


async def test_deadlines_begin_at_dispatch() -> None:
    limits = Limits(cpu_seconds=5.0, wall_seconds=0.4)
    source = step_of("import threading\nthreading.Event().wait(0.25)\nreturn 'x', 0, False, False, {}")
    async with ForkServer(PoolLimits(calls=1, zygotes=1)) as sandbox:
        sessions = [await sandbox.open(source, limits) for _ in range(4)]
        for session in sessions:
            await session.reset(1)
        outcomes = await asyncio.gather(*(session.step("x") for session in sessions), return_exceptions=True)
        assert all(isinstance(outcome, Step) for outcome in outcomes)


async def test_a_program_that_does_not_load_spoils_none_that_open_beside_it() -> None:
    async with ForkServer(PoolLimits(zygotes=1)) as sandbox:
        opened = (sandbox.open(source, LIMITS) for source in (GAME, BAD, GAME))
        outcomes = await asyncio.gather(*opened, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [Instance, ProgramError, Instance]


CROWD = """
import array, os, socket, sys
if os.getuid() == 0:
    os.setresuid(65534, 65534, 65534)
ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
for _ in range(40):
    ends[0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0]))])
print("sent", flush=True)
sys.stdin.read()
"""


async def test_descriptors_that_the_same_user_has_on_their_way_stop_no_birth() -> None:
    """The kernel counts those of all of a user's processes against the limit of the one that sends another."""
    crowd = subprocess.Popen([sys.executable, "-c", CROWD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert crowd.stdout is not None and crowd.stdout.readline() == "sent\n"
        async with ForkServer(PoolLimits(zygotes=1)) as sandbox:
            sessions = [await sandbox.open(GAME, LIMITS) for _ in range(3)]
            for session in sessions:
                assert (await session.reset(1)).observation
    finally:
        crowd.communicate()


async def test_many_programs_do_not_pile_up() -> None:
    async with ForkServer(PoolLimits(zygotes=1)) as sandbox:
        for number in range(80):
            session = await sandbox.open(f"{GAME}\nNUMBER = {number}\n", LIMITS)
            await session.reset(1)
            await session.close()
        assert len(sandbox._templates) <= 64
        await until(lambda: len(sandbox.live()) <= 64)


async def test_missing_layers_are_refused_unless_unsafe() -> None:
    async with ForkServer(require=["landlock", "seccomp"], without=["landlock"]) as sandbox:
        with pytest.raises(SandboxError, match=BROKEN) as caught:
            await sandbox.open(GAME, LIMITS)
        assert "landlock (switched off)" in caught.value.fault.message and "container" in caught.value.fault.message
    async with ForkServer(require=["landlock"], without=["landlock"], unsafe=True) as sandbox:
        assert (await (await sandbox.open(GAME, LIMITS)).reset(1)).observation
    async with ForkServer(require=["luck"]) as sandbox:
        with pytest.raises(SandboxError, match="no such layer: luck"):
            await sandbox.open(GAME, LIMITS)


async def test_other_systems_are_refused_with_the_ways_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(support.sys, "platform", "darwin")
    for sandbox in (ForkServer(), ProcessSandbox()):
        with pytest.raises(SandboxError, match="Linux container"):
            await sandbox.open(GAME, LIMITS)
    async with ProcessSandbox(unsafe=True) as unsafe:
        assert (await (await unsafe.open(GAME, LIMITS)).reset(1)).observation


async def test_layers_are_told() -> None:
    async with ForkServer() as sandbox:
        layers = await sandbox.layers()
    assert layers.keys() == support.LAYERS.keys()
    assert all(why for _, why in layers.values())
