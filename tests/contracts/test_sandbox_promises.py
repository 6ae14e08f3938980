"""What docs/sandbox.md promises of limits, blame and hosts that give little."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest
from deprived import run_deprived
from sandbox_conformance import GAME, outcome, returning, step_of

from spadework.envs.sandbox.base import Limits, Sandbox, Step
from spadework.envs.sandbox.forkserver.client import ForkServer, PoolLimits
from spadework.envs.sandbox.forkserver.kernel_facts import LOST
from spadework.envs.sandbox.process import ProcessSandbox
from spadework.errors import ProgramError, SandboxError

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the sandbox is made of Linux's own")
SANDBOXES: dict[str, Callable[[], Sandbox]] = {
    "process": ProcessSandbox,
    "fork server": lambda: ForkServer(PoolLimits(zygotes=1)),
    "without templates": lambda: ForkServer(PoolLimits(zygotes=1), without=["templates"]),
}
each_sandbox = pytest.mark.parametrize("kind", SANDBOXES)
SHORT = Limits(cpu_seconds=0.3, load_seconds=0.5, wall_seconds=1.5)


# --- limits are what they say


@each_sandbox
async def test_a_call_is_cut_at_its_cpu_limit_and_not_much_later(kind: str) -> None:
    async with SANDBOXES[kind]() as sandbox:  # type: ignore[attr-defined]
        fault = await outcome(sandbox, step_of("while True: pass"), limits=Limits(cpu_seconds=0.3, wall_seconds=60.0))
    assert isinstance(fault, ProgramError) and fault.fault.code == "ENV205"
    used = float(re.match(r"([\d.]+) CPU seconds", fault.fault.message)[1])  # type: ignore[index]
    assert 0.3 <= used < 0.6


@each_sandbox
async def test_the_kernel_holds_every_hard_limit(kind: str) -> None:
    body = """
    import resource
    names = ("FSIZE", "CORE", "MEMLOCK", "MSGQUEUE", "CPU", "NOFILE", "AS")
    return "", 0, False, False, {name: resource.getrlimit(getattr(resource, "RLIMIT_" + name)) for name in names}
    """
    async with SANDBOXES[kind]() as sandbox:  # type: ignore[attr-defined]
        step = await outcome(sandbox, step_of(body), limits=Limits(memory_mb=100))
    assert isinstance(step, Step)
    found = {name: soft for name, (soft, hard) in step.info.items() if soft == hard}
    assert {name: found[name] for name in ("FSIZE", "CORE", "MEMLOCK", "MSGQUEUE")} == dict.fromkeys(
        ("FSIZE", "CORE", "MEMLOCK", "MSGQUEUE"), 0
    )
    assert found["CPU"] == 3600  # an hour of CPU in a whole life: the net below the limits of calls
    assert found["NOFILE"] <= 6 and 100 << 20 < found["AS"] < 1 << 31


# --- births

BIRTH = """
import gc, threading
{head}
for thing in gc.get_objects():
    if type(thing).__name__ == "Template":
        thing._become_play = lambda sock: {act}
class AEnv:
    def reset(self, seed=None): return "ready"
    def step(self, action): return "x", 0, False, False, {{}}
"""
SLEEP = "lock = threading.Lock(); lock.acquire()"


@pytest.mark.parametrize(
    ("source", "least"),
    [
        (BIRTH.format(head="", act="sum(iter(int, 1))"), SHORT.load_seconds),
        (BIRTH.format(head=SLEEP, act="lock.acquire()"), SHORT.wall_seconds),
        (
            "import gc\ndef spin(*_):\n    while loaded: pass\nloaded = []\ngc.callbacks.append(spin)\n"
            + returning("('x', 0, False, False, {})")
            + "loaded.append(1)\n",
            0.0,
        ),
        (
            BIRTH.format(head=SLEEP, act="1")
            .replace("_become_play", "_serve_fork")
            .replace("lambda sock: 1", "lock.acquire"),
            1,
        ),
    ],
    ids=["spins", "sleeps", "its template spins", "its template sleeps"],
)
async def test_a_birth_has_the_limits_of_loading(source: str, least: float) -> None:
    async with ForkServer(PoolLimits(zygotes=1)) as sandbox:
        await (await sandbox.open(GAME, SHORT)).close()  # the zygote is warm
        began = time.monotonic()
        with pytest.raises(ProgramError, match="ENV205"):
            await sandbox.open(source, SHORT)
        assert least <= time.monotonic() - began < least + 5
        assert (await (await sandbox.open(GAME, SHORT)).reset(1)).observation


# --- blame


@each_sandbox
async def test_a_child_stopped_from_outside_blames_no_program(kind: str) -> None:
    async with SANDBOXES[kind]() as sandbox:  # type: ignore[attr-defined]
        session = await sandbox.open(GAME, SHORT)
        await session.reset(1)
        os.kill(session.pid, signal.SIGSTOP)  # type: ignore[attr-defined]
        with pytest.raises(SandboxError, match=f"{LOST}.*stopped from outside"):
            await session.step("x")


async def test_a_template_stopped_from_outside_blames_no_program() -> None:
    async with ForkServer(PoolLimits(zygotes=1)) as sandbox:
        await sandbox.open(GAME, SHORT)
        (template,) = sandbox._templates.values()
        os.kill(template.instance.pid, signal.SIGSTOP)
        with pytest.raises(SandboxError, match=LOST):
            await sandbox.open(GAME, SHORT)


async def test_an_empty_message_of_a_template_is_judged_at_once() -> None:
    source = BIRTH.format(head="", act="1").replace(
        "thing._become_play = lambda sock: 1",
        "thing._serve_fork = lambda it=thing: (it._control.recvmsg(16, 64), it._control.send(b''))",
    )
    limits = Limits(wall_seconds=30.0)
    async with ForkServer(PoolLimits(zygotes=1)) as sandbox:
        began = time.monotonic()
        with pytest.raises(ProgramError, match=r"ENV208.*spoke out of turn"):
            await sandbox.open(source, limits)
        assert time.monotonic() - began < 10


# --- hosts that give little

FEW = """
import asyncio, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
from spadework.envs.sandbox.base import Limits
from spadework.envs.sandbox.forkserver.client import ForkServer
from spadework.envs.sandbox.process import ProcessSandbox
async def play(sandbox, number):
    session = await sandbox.open({source!r} + f"N = {{number % {programs}}}", Limits())
    await session.reset(number)
    await asyncio.sleep(0.02)
    await session.close()
async def main():
    async with {sandbox} as sandbox:
        await asyncio.gather(*(play(sandbox, number) for number in range({plays})))
    print("all played")
asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("sandbox", "plays", "programs"),
    [("ForkServer()", 300, 1), ("ForkServer()", 200, 100), ("ProcessSandbox()", 70, 1)],
)
def test_opens_wait_for_descriptors(sandbox: str, plays: int, programs: int) -> None:
    script = FEW.format(source=GAME, sandbox=sandbox, plays=plays, programs=programs)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.stdout == "all played\n", done.stderr[-2000:]


OPEN = """
import asyncio, json, sys
from spadework.envs.sandbox.base import Limits
from spadework.envs.sandbox.forkserver import kernel_facts
from spadework.envs.sandbox.forkserver.client import ForkServer, PoolLimits, probe
from spadework.envs.sandbox.process import ProcessSandbox
from spadework.errors import FaultError
{head}
async def main():
    async with {sandbox} as sandbox:
        try:
            session = await sandbox.open({source!r}, Limits(cpu_seconds=0.3, wall_seconds=20.0))
            await session.reset(1)
            await session.step("x")
            print(json.dumps(["no fault", ""]))
        except FaultError as error:
            print(json.dumps([error.fault.code, error.fault.message]))
asyncio.run(main())
"""
on_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="the filter of the test is written for x86-64")
HOSTS = ("ProcessSandbox()", "ForkServer(PoolLimits(zygotes=1))")


@on_x86
@pytest.mark.parametrize("sandbox", HOSTS)
def test_a_host_without_seccomp_is_named_with_the_ways_out(sandbox: str) -> None:
    code, message = json.loads(run_deprived(OPEN.format(head="", sandbox=sandbox, source=GAME), "seccomp"))
    assert code == "SBX001"
    assert "missing: " in message and "seccomp (" in message and "Linux container" in message


@on_x86
@pytest.mark.parametrize("sandbox", HOSTS)
@pytest.mark.parametrize(
    ("head", "clock"), [("", "CPU"), ("kernel_facts._cpu_ticks = lambda pid: None", "wall")], ids=["/proc", "nothing"]
)
def test_cpu_limits_hold_where_clocks_cannot_be_read(sandbox: str, head: str, clock: str) -> None:
    script = OPEN.format(head=head, sandbox=sandbox, source=step_of("while True: pass"))
    code, message = json.loads(run_deprived(script, "clocks"))
    used = re.match(rf"([\d.]+) {clock} seconds", message)
    assert code == "ENV205" and used is not None, message
    assert 0.25 < float(used[1]) < 1.0


@on_x86
def test_doctor_tells_what_does_not_hold() -> None:
    script = (
        OPEN.partition("{head}")[0]
        + "kernel_facts._cpu_ticks = lambda pid: None\nprint(json.dumps(asyncio.run(probe())))"
    )
    layers = json.loads(run_deprived(script, "personality", "clocks"))
    doctor = "from spadework.cli.doctor import run\nfrom argparse import Namespace\nprint('status', run(Namespace(json=False)))"
    shown = run_deprived(doctor, "personality", "clocks")
    assert "status 0" in shown and "cpu_clocks" in shown and "fixed_layout" in shown
    for name, words in (("fixed_layout", "change from start to start"), ("cpu_clocks", "held to wall seconds")):
        holds, why = layers[name]
        assert not holds and words in why


async def test_addresses_repeat_where_the_layout_is_fixed() -> None:
    source = returning("str((id(object()), hash(object()), id(self))), 0, False, False, {}")
    seen = []
    for _ in range(2):
        async with ForkServer(PoolLimits(zygotes=1)) as sandbox:
            if not (await sandbox.layers())["fixed_layout"][0]:
                pytest.skip("the host refuses personality()")
            seen.append(await outcome(sandbox, source))
    assert isinstance(seen[0], Step) and seen[0] == seen[1]


# --- what a program can ask of the host


@each_sandbox
async def test_what_tells_plays_apart_is_the_same_in_all(kind: str) -> None:
    """By every detour that a program may try: types of constants, ancestors, other modules, raw constructors."""
    body = """
    import datetime, platform, queue, sqlite3, sys, threading, time
    os, now = random._os, datetime.datetime.now()
    raw = sqlite3.Connection(":memory:").execute("select random(), current_timestamp").fetchall()
    more = sqlite3.dbapi2.connect(":memory:").execute("select random(), date('now')").fetchall()
    parts = [time.asctime(), type(now.max).now(), type(now.date()).today(), datetime.datetime.mro()[0].now(), raw, more,
             random._random.Random().random(), np.empty(9).tolist(), np.empty_like(np.ones(9)).tolist(), os.times(),
             os.getloadavg(), os.sysconf("SC_AVPHYS_PAGES"), sys.modules["posix"].times(), sys.modules["posix"].getpid(),
             threading._time(), queue.time(), platform.node(), platform.release(), os.cpu_count(), sys.orig_argv]
    return repr(parts), 0, False, False, {}
    """
    seen = []
    for _ in range(2):
        async with SANDBOXES[kind]() as sandbox:  # type: ignore[attr-defined]
            seen.append(await outcome(sandbox, step_of(body)))
        await asyncio.sleep(1.1)  # a second later every real clock says something else
    assert isinstance(seen[0], Step), seen[0]
    assert seen[0] == seen[1]
    assert "2023-11-14" in seen[0].observation and "site-packages" not in seen[0].observation
