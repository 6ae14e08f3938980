"""The host's end of one zygote process: orders go out, births and exits come in, and its own death is seen to."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import signal
import socket
from collections import deque
from collections.abc import Mapping
from typing import Any

from spadework.envs.sandbox.base import Limits
from spadework.envs.sandbox.forkserver import descriptors, launch
from spadework.envs.sandbox.forkserver.inside import wire
from spadework.envs.sandbox.forkserver.instance import START_SECONDS, Instance
from spadework.envs.sandbox.forkserver.kernel_facts import LOST, NO_START, STOPPED, cpu_source, pass_descriptors
from spadework.errors import ProgramError, SandboxError

MESSAGE = 1 << 16
RETRY_SECONDS = 0.01


class ZygoteProcess:
    """One zygote process and the instances that live under it.

    Args:
        config: what ``inside.zygote.main`` is told.
        gate: bounds the calls that are under way in all instances of the sandbox.

    Raises ``OSError`` if there is no descriptor or process for it.
    """

    def __init__(self, config: Mapping[str, Any], gate: asyncio.Semaphore) -> None:
        self.instances: dict[int, Instance] = {}
        self.layers: dict[str, tuple[bool, str]] = {}
        self.shared_bytes = 0
        """Bytes of memory that a child shares with its zygote from the start."""
        self.dead = False
        self._born_at: dict[int, float] = {}
        """When plays were born about which the zygote was asked, by the loop's clock."""
        self._gate = gate
        self._ids = 0
        self._loop = asyncio.get_running_loop()
        self._outbox: deque[tuple[bytes, list[socket.socket]]] = deque()
        self._ready: asyncio.Future[None] = self._loop.create_future()
        self._cpu_source = ""
        with contextlib.ExitStack() as undo:
            self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            undo.callback(self._control.close)
            with theirs:
                self._process = launch.start("zygote", theirs.fileno(), dict(config))
            undo.pop_all()
        self._control.setblocking(False)
        self._loop.add_reader(self._control.fileno(), self._readable)
        self._blocked = False

    async def ready(self) -> None:
        """Wait until the zygote serves. Raises ``SandboxError``."""
        try:
            await asyncio.wait_for(asyncio.shield(self._ready), START_SECONDS)
        except TimeoutError:
            self._end("the zygote did not start")
            raise SandboxError(NO_START, "the sandbox's fork server did not start in time") from None

    def spawn(self, limits: Limits, *, template: bool) -> Instance:
        """A child that has loaded nothing yet. Raises ``SandboxError``, ``OutOfDescriptors`` among them."""
        order = {"do": "spawn", "memory": limits.memory_mb << 20, "template": template, "wall": limits.wall_seconds}
        return self._start(limits, order)

    def fork(self, template: Instance, limits: Limits) -> Instance:
        """A child that has loaded what ``template`` has. Raises ``SandboxError``, ``OutOfDescriptors`` among them."""
        return self._start(limits, {"do": "fork", "template": template.id})

    def _start(self, limits: Limits, order: dict[str, Any]) -> Instance:
        if self.dead:
            raise SandboxError(LOST, "the sandbox's fork server has died")
        with descriptors.opening():
            ours, theirs = socket.socketpair()
        self._ids += 1
        number = self._ids
        instance = Instance(ours, limits, lambda: self._kill(number), gate=self._gate)
        instance.zygote_pid = self._loop.create_future()
        instance.id, instance.shared_bytes, instance.forked = number, self.shared_bytes, order["do"] == "fork"
        instance.clock.reads_cpu = bool(self._cpu_source)
        self.instances[number] = instance
        self._send({**order, "ids": [number]}, [theirs])
        return instance

    def _kill(self, number: int) -> None:
        self._send({"do": "kill", "ids": [number]}, [])

    def _send(self, message: dict[str, Any], sockets: list[socket.socket]) -> None:
        self._outbox.append((json.dumps(message).encode(), sockets))
        if len(self._outbox) == 1:
            self._flush()

    def _flush(self) -> None:
        while self._outbox and not self.dead:
            message, sockets = self._outbox[0]
            try:
                pass_descriptors(self._control, message, [sock.fileno() for sock in sockets])
            except BlockingIOError:
                self._loop.add_writer(self._control.fileno(), self._flush)
                self._blocked = True
                return
            except OSError as error:
                # The kernel counts the descriptors that all processes of a user have on their way to another.
                if error.errno == errno.ETOOMANYREFS:
                    self._loop.call_later(RETRY_SECONDS, self._flush)
                    return
                break  # it is dying: reading tells
            self._outbox.popleft()
            for sock in sockets:
                sock.close()
        if self._blocked and not self.dead:
            self._loop.remove_writer(self._control.fileno())
            self._blocked = False

    def _readable(self) -> None:
        while not self.dead:
            try:
                data = self._control.recv(MESSAGE)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self._end("the sandbox's fork server has died")
                return
            self._handle(json.loads(data))

    def _handle(self, message: dict[str, Any]) -> None:
        if "ready" in message:
            self.layers = {name: (bool(holds), str(why)) for name, (holds, why) in message["ready"].items()}
            self.layers["cpu_clocks"] = self._find_cpu_clock()
            self.shared_bytes = message["held"]
            self._ready.set_result(None)
        elif "failed" in message:
            fault = SandboxError(NO_START, "the sandbox's fork server did not start", message["failed"])
            self._ready.set_exception(fault)
        elif "born" in message:
            number, pid = message["born"]
            instance = self.instances.get(number)
            if instance is not None and instance.zygote_pid is not None:
                instance.zygote_pid.set_result(pid)
                if instance.forked:
                    self._loop.call_later(instance.limits.load_seconds, self._ask_for_cpu, number, self._loop.time())
        elif "cpu" in message:
            number, cpu, stopped = message["cpu"]
            self._judge_birth(number, cpu, stopped)
        for number, status, code, reason in message.get("exits", ()):
            self._exited(self.instances.pop(number, None), status, code, reason)

    def _find_cpu_clock(self) -> tuple[bool, str]:
        self._cpu_source = cpu_source(self._process.pid)
        missing = "CPU time of other processes cannot be read: limits on CPU seconds are held to wall seconds"
        return bool(self._cpu_source), self._cpu_source or missing

    def _ask_for_cpu(self, number: int, born_at: float) -> None:
        """Ask the zygote about a play that may be late: the host knows no process id of it before its hello."""
        instance = self.instances.get(number)
        if instance is not None and not instance.started and instance.fault is None and not self.dead:
            self._born_at[number] = born_at
            self._send({"do": "cpu", "ids": [number]}, [])

    def _judge_birth(self, number: int, cpu: float | None, stopped: bool) -> None:
        """Hold a play that has not said hello to the limits of loading: its program may act before that."""
        born_at = self._born_at.pop(number)
        instance = self.instances.get(number)
        if instance is None or instance.started or instance.fault is not None:
            return
        limits, passed = instance.limits, self._loop.time() - born_at
        used = passed if cpu is None else cpu
        if used >= limits.load_seconds:
            clock = "wall" if cpu is None else "CPU"
            why = f"{used:.3f} {clock} seconds before it was ready; the limit is {limits.load_seconds}"
            instance.fail(ProgramError(wire.HANG, why))
        elif passed >= limits.wall_seconds:
            why = f"not ready within {limits.wall_seconds} seconds"
            instance.fail(SandboxError(LOST, STOPPED) if stopped else ProgramError(wire.HANG, why))
        else:
            left = min(limits.load_seconds - used, limits.wall_seconds - passed)
            self._loop.call_later(max(left, RETRY_SECONDS), self._ask_for_cpu, number, born_at)

    def _exited(self, instance: Instance | None, status: int, code: str, reason: str) -> None:
        if instance is None:
            return
        if reason:
            instance.fail(ProgramError(code, reason))
        if not instance.exited.done():
            instance.exited.set_result(status)

    def _end(self, why: str) -> None:
        """See to what the zygote leaves: with a namespace the kernel kills its children, without one we do."""
        if self.dead:
            return
        self.dead = True
        self._loop.remove_reader(self._control.fileno())
        self._loop.remove_writer(self._control.fileno())
        self._control.close()
        for _, sockets in self._outbox:
            for sock in sockets:
                sock.close()
        self._outbox.clear()
        if not self._ready.done():
            self._ready.set_exception(SandboxError(NO_START, why))
            self._ready.exception()
        for instance in list(self.instances.values()):
            if instance.pid:
                with contextlib.suppress(OSError):
                    os.kill(instance.pid, signal.SIGKILL)
            instance.fail(SandboxError(LOST, why))
            if not instance.exited.done():
                instance.exited.set_result(-signal.SIGKILL)
        self.instances.clear()
        self._process.kill()
        self._process.wait()

    async def close(self) -> None:
        """Kill the zygote and all that lives under it."""
        self._end("the sandbox is closed")
