"""The host's end of one zygote: births, kills, exits, and its own death."""

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
from spadework.envs.sandbox.forkserver import launch
from spadework.envs.sandbox.forkserver.inside import wire
from spadework.envs.sandbox.forkserver.instance import START_SECONDS, Instance
from spadework.envs.sandbox.forkserver.kernel_facts import LOST, NO_START, pass_descriptors
from spadework.errors import ProgramError, SandboxError

MESSAGE = 1 << 16
RETRY_SECONDS = 0.01


class Nursery:
    """One zygote process and the instances that live under it."""

    def __init__(self, config: Mapping[str, Any], gate: asyncio.Semaphore) -> None:
        self.instances: dict[int, Instance] = {}
        self.layers: dict[str, tuple[bool, str]] = {}
        self.held = 0
        """Bytes of memory that a child shares with its zygote from the start."""
        self.dead = False
        self._gate = gate
        self._ids = 0
        self._loop = asyncio.get_running_loop()
        self._outbox: deque[tuple[bytes, list[socket.socket]]] = deque()
        self._ready: asyncio.Future[None] = self._loop.create_future()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = launch.start("zygote", theirs.fileno(), dict(config))
        self._control.setblocking(False)
        self._loop.add_reader(self._control.fileno(), self._heard)
        self._blocked = False

    async def ready(self) -> None:
        """Wait until the zygote serves. Raises ``SandboxError``."""
        try:
            await asyncio.wait_for(asyncio.shield(self._ready), START_SECONDS)
        except TimeoutError:
            self._lost("the zygote did not start")
            raise SandboxError(NO_START, "the sandbox's fork server did not start in time") from None

    def spawn(self, limits: Limits, *, template: bool) -> Instance:
        """A child that has loaded nothing yet."""
        return self._birth(limits, {"do": "spawn", "memory": limits.memory_mb << 20, "template": template})

    def fork(self, template: Instance, limits: Limits) -> Instance:
        """A child that has loaded what ``template`` has."""
        return self._birth(limits, {"do": "fork", "template": template.id})

    def _birth(self, limits: Limits, order: dict[str, Any]) -> Instance:
        if self.dead:
            raise SandboxError(LOST, "the sandbox's fork server has died")
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:
            raise SandboxError(NO_START, f"no socket for another instance: {error.strerror}") from None
        self._ids += 1
        number = self._ids
        instance = Instance(ours, limits, lambda: self._kill(number), gate=self._gate)
        instance.vouched = self._loop.create_future()
        instance.id, instance.shared_bytes, instance.forked = number, self.held, order["do"] == "fork"
        self.instances[number] = instance
        self._say({**order, "ids": [number]}, [theirs])
        return instance

    def _kill(self, number: int) -> None:
        self._say({"do": "kill", "ids": [number]}, [])

    def _say(self, message: dict[str, Any], sockets: list[socket.socket]) -> None:
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
                if error.errno == errno.ETOOMANYREFS:  # of all descriptors that this user has on their way
                    self._loop.call_later(RETRY_SECONDS, self._flush)
                    return
                break  # it is dying: reading tells
            self._outbox.popleft()
            for sock in sockets:
                sock.close()
        if self._blocked and not self.dead:
            self._loop.remove_writer(self._control.fileno())
            self._blocked = False

    def _heard(self) -> None:
        while not self.dead:
            try:
                data = self._control.recv(MESSAGE)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self._lost("the sandbox's fork server has died")
                return
            self._obey(json.loads(data))

    def _obey(self, message: dict[str, Any]) -> None:
        if "ready" in message:
            self.layers = {name: (bool(holds), str(why)) for name, (holds, why) in message["ready"].items()}
            self.held = message["held"]
            self._ready.set_result(None)
        elif "failed" in message:
            fault = SandboxError(NO_START, "the sandbox's fork server did not start", message["failed"])
            self._ready.set_exception(fault)
        elif "born" in message:
            number, pid = message["born"]
            instance = self.instances.get(number)
            if instance is not None and instance.vouched is not None:
                instance.vouched.set_result(pid)
        for number, status, reason in message.get("exits", ()):
            self._exited(self.instances.pop(number, None), status, reason)

    def _exited(self, instance: Instance | None, status: int, reason: str) -> None:
        if instance is None:
            return
        if reason:
            instance.fail(ProgramError(wire.DIED, reason))
        if not instance.exited.done():
            instance.exited.set_result(status)

    def _lost(self, why: str) -> None:
        """The zygote is gone, and in its namespace all its children; without one we see to them."""
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
        self._lost("the sandbox is closed")
