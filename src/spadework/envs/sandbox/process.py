"""The reference sandbox: a fresh interpreter for each instance. Simple and slow; the fork server must match it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys

from spadework.envs.sandbox.base import Limits
from spadework.envs.sandbox.forkserver import descriptors, launch, support
from spadework.envs.sandbox.forkserver.instance import Instance
from spadework.envs.sandbox.forkserver.kernel_facts import CLOSED, cpu_source
from spadework.errors import SandboxError


class ProcessSandbox:
    """A ``Sandbox`` with one child process an instance.

    Args:
        unsafe: run programs without confinement, on any system.
    """

    def __init__(self, *, unsafe: bool = False) -> None:
        self._unsafe = unsafe
        self._live: set[Instance] = set()
        self._closed = False
        self._waiting = descriptors.Queue()

    async def open(self, source: str, limits: Limits) -> Instance:
        """See ``Sandbox``."""
        if self._closed:
            raise SandboxError(CLOSED, "the sandbox is closed")
        if not self._unsafe:
            support.check_platform()
            descriptors.allow(0)
        instance = await self._waiting.run(lambda: self._spawn(source, limits), lambda: bool(self._live))
        try:
            await instance.start()
            await instance.load(source)
        except BaseException:
            await instance.close()
            raise
        return instance

    async def close(self) -> None:
        """See ``Sandbox``."""
        self._closed = True
        await asyncio.gather(*(instance.close() for instance in list(self._live)))

    async def __aenter__(self) -> ProcessSandbox:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _spawn(self, source: str, limits: Limits) -> Instance:
        config = {**launch.describe(launch.kind_of(source)), "memory_mb": limits.memory_mb, "unsafe": self._unsafe}
        with descriptors.opening(), contextlib.ExitStack() as undo:
            ours, theirs = socket.socketpair()
            undo.callback(ours.close)
            with theirs:
                process = launch.start("fresh", theirs.fileno(), config)
            undo.callback(process.wait)
            undo.callback(process.kill)
            instance = Instance(ours, limits, process.kill)
            instance.clock.reads_cpu = bool(cpu_source(process.pid))
            self._reap(process, instance)
            undo.pop_all()
        self._live.add(instance)
        return instance

    def _reap(self, process: subprocess.Popen[bytes], instance: Instance) -> None:
        """Watch for the end of ``process``, where the system lets us without a thread or a signal handler."""
        loop = asyncio.get_running_loop()
        if not sys.platform.startswith("linux"):
            waiting = loop.run_in_executor(None, process.wait)
            waiting.add_done_callback(lambda done: self._ended(instance, done.result()))
            return
        descriptor = os.pidfd_open(process.pid)

        def ended() -> None:
            loop.remove_reader(descriptor)
            os.close(descriptor)
            self._ended(instance, process.wait())

        loop.add_reader(descriptor, ended)

    def _ended(self, instance: Instance, status: int) -> None:
        self._live.discard(instance)
        if not instance.exited.done():
            instance.exited.set_result(status)
