"""Plays every hostile program in one mode, each beside a bystander, and prints what came of it as JSON lines.

Run as a process of its own, since a mode may mean giving up root: ``python driver.py MODE [SUBSTRING]``.
The last line tells of the host: whether its files, ports and processes are as they were.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any

from programs import ALL, Hostile

from spadework.envs.sandbox.base import Limits, Sandbox
from spadework.envs.sandbox.forkserver.client import ForkServer, PoolLimits
from spadework.errors import FaultError

LIMITS = Limits(cpu_seconds=0.1, load_seconds=0.25, wall_seconds=2.0)
AT_ONCE = 4
SECRET = "CANARY-of-the-host"
PLAIN_USER = 1000
BYSTANDER = """
class BystanderEnv:
    def reset(self, seed=None):
        self.bystander_secret = "CANARY-of-the-bystander"
        self.dice = random.Random(seed)
        self.turn = 0
        return "ready"

    def step(self, action):
        self.turn += 1
        return f"{self.turn} {self.dice.randint(1, 10 ** 9)} {action}", 0.5, False, False, {}
"""
MODES: dict[str, dict[str, Any]] = {
    "root": {},
    "plain user": {},
    "no namespaces": {"without": ["namespaces"]},
    "seccomp and rlimits": {"without": ["namespaces", "landlock"]},
}


class Host:
    """What there is to harm."""

    def __init__(self, folder: Path) -> None:
        folder.chmod(0o777)
        self.secret = folder / "secret.txt"
        self.secret.write_text(SECRET)
        self.secret.chmod(0o666)
        self.folder = folder / "open"
        self.folder.mkdir()
        self.folder.chmod(0o777)
        (self.folder / "planted.py").write_text("")
        self.before = sorted(os.listdir(self.folder))
        self.abstract = f"spadework-{os.getpid()}"
        self.tcp, self.udp, self.unix = (
            socket.socket(),
            socket.socket(type=socket.SOCK_DGRAM),
            socket.socket(socket.AF_UNIX),
        )
        for sock, address in (
            (self.tcp, ("127.0.0.1", 0)),
            (self.udp, ("127.0.0.1", 0)),
            (self.unix, "\0" + self.abstract),
        ):
            sock.bind(address)
            sock.setblocking(False)
        self.tcp.listen()
        self.unix.listen()

    def fill(self, source: str) -> str:
        places = {"SECRET": self.secret, "DIRECTORY": self.folder, "TCP": self.tcp.getsockname()[1]}
        places |= {"UDP": self.udp.getsockname()[1], "ABSTRACT": self.abstract, "VICTIM": os.getpid()}
        for name, value in places.items():
            source = source.replace(f"@{name}@", str(value))
        return source

    def harm(self) -> list[str]:
        found = []
        if self.secret.read_text() != SECRET or self.secret.stat().st_mode & 0o777 != 0o666:
            found.append("the secret was changed")
        if sorted(os.listdir(self.folder)) != self.before:
            found.append(f"files appeared: {os.listdir(self.folder)}")
        for name, accept in (
            ("TCP", self.tcp.accept),
            ("a socket", self.unix.accept),
            ("UDP", lambda: self.udp.recv(9)),
        ):
            try:
                accept()
                found.append(f"{name} was reached")
            except BlockingIOError:
                pass
        return found


async def play(sandbox: Sandbox, hostile: Hostile, host: Host) -> tuple[str, str]:
    """What came of it: a fault's code, ``none``, or a sentence about the harm; and what the fault says."""
    source = host.fill(hostile.source)
    try:
        session = await sandbox.open(source, LIMITS)
        try:
            await session.reset(1)
            step = await session.step("go")
            if "ESCAPED" in step.observation or "CANARY" in step.observation:
                return f"harm: {step.observation[:200]}", ""
            if not abs(step.reward) <= 1.0:
                return f"harm: a reward of {step.reward}", ""
            await asyncio.sleep(hostile.idle)
            if hostile.idle:
                await session.step("again")
        finally:
            await session.close()
    except FaultError as error:
        return error.fault.code if error.fault.kind == "program" else f"harm: {error}", str(error)
    return "none", ""


async def beside(sandbox: Sandbox, hostile: Hostile, host: Host, transcript: list[str]) -> dict[str, Any]:
    """Play it next to a bystander that must not notice."""
    began = asyncio.get_running_loop().time()
    bystander = await sandbox.open(BYSTANDER, LIMITS)
    try:
        await bystander.reset(7)
        seen = [(await bystander.step("a")).observation]
        ended, why = await play(sandbox, hostile, host)
        seen += [(await bystander.step("a")).observation for _ in range(2)]
    except FaultError as error:
        seen, ended, why = [str(error)], "unknown", ""
    finally:
        await bystander.close()
    seconds = round(asyncio.get_running_loop().time() - began, 2)
    stopped = ended in hostile.codes | {"ENV205"}  # a slow host may cut anything short
    well = stopped and (not transcript or seen == transcript)
    return {
        "name": hostile.name,
        "ended": ended,
        "why": why[:500],
        "bystander": seen == transcript,
        "ok": well,
        "seconds": seconds,
        "seen": seen,
    }


async def main(mode: str, only: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        host = Host(Path(folder))
        async with ForkServer(PoolLimits(zygotes=1), **MODES[mode]) as sandbox:
            wanted = {"landlock", "namespaces"} - set(MODES[mode].get("without", ()))
            layers = await sandbox.layers()
            missing = [f"{name}: {layers[name][1]}" for name in sorted(wanted) if not layers[name][0]]
            if missing:
                print(json.dumps({"skip": "the host does not give " + ", ".join(missing)}))
                return
            transcript = (await beside(sandbox, ALL[0], host, []))["seen"]
            gate = asyncio.Semaphore(AT_ONCE)

            async def one(hostile: Hostile) -> None:
                async with gate:
                    print(json.dumps(await beside(sandbox, hostile, host, transcript)), flush=True)

            await asyncio.gather(*(one(hostile) for hostile in ALL if only in hostile.name))
            left = [instance.id for instance in sandbox.live() if instance.forks == 0 and instance.busy]
        print(
            json.dumps(
                {
                    "name": "the host",
                    "ok": not host.harm() and not left and not orphans(),
                    "ended": [*host.harm(), left, orphans()],
                }
            )
        )


def orphans() -> list[int]:
    """Processes of ours that outlived the sandbox."""
    return [int(pid) for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()]


def become_plain() -> str:
    """Give up root; the reason if that cannot be done here."""
    if os.getuid() != 0:
        return ""
    python = Path(os.path.realpath(sys.executable))
    closed = [folder for folder in reversed(python.parents) if not folder.stat().st_mode & 1]
    if closed and (why := _open_up(python, closed[0])):
        return why
    os.setgroups([])
    os.setresgid(PLAIN_USER, PLAIN_USER, PLAIN_USER)
    os.setresuid(PLAIN_USER, PLAIN_USER, PLAIN_USER)
    return "" if os.access(python, os.X_OK) else f"a plain user cannot reach {python}"


def _open_up(python: Path, closed: Path) -> str:
    """In mounts of our own, put the interpreter where a plain user may walk to it."""
    libc = ctypes.CDLL(None, use_errno=True)
    prefix = Path(sys.base_prefix)
    if libc.unshare(0x20000) != 0 or libc.mount(b"none", b"/", None, 0x4000 | 0x40000, None) != 0:
        return "no mounts of our own"
    with tempfile.TemporaryDirectory() as stash:
        bound = libc.mount(bytes(prefix), stash.encode(), None, 0x1000, None)
        covered = libc.mount(b"cover", bytes(closed), b"tmpfs", 0, b"mode=755")
        if bound or covered:
            return "cannot mount"
        prefix.mkdir(parents=True)
        moved = libc.mount(stash.encode(), bytes(prefix), None, 0x1000, None)
        libc.umount2(stash.encode(), 2)
    return "cannot mount the interpreter" if moved else ""


if __name__ == "__main__":
    chosen = sys.argv[1]
    reason = become_plain() if chosen == "plain user" else "" if chosen != "root" or os.getuid() == 0 else "not root"
    os.environ["SECRET"] = SECRET
    if reason:
        print(json.dumps({"skip": reason}))
    else:
        asyncio.run(main(chosen, sys.argv[2] if len(sys.argv) > 2 else ""))
