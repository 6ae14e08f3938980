"""The sandbox that plays use: a zygote per core, a template per program, a forked child per play.

It behaves as ``ProcessSandbox`` does, fault for fault, and starts an instance in a few milliseconds.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from spadework.envs.sandbox.base import Limits
from spadework.envs.sandbox.forkserver import audit, descriptors, launch, support
from spadework.envs.sandbox.forkserver.instance import Instance
from spadework.envs.sandbox.forkserver.kernel_facts import CLOSED, held_bytes
from spadework.envs.sandbox.forkserver.zygote_process import ZygoteProcess
from spadework.errors import ProgramError, SandboxError

MOST_TEMPLATES = 64
MOST_CODE = 1024


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """What all instances together may use."""

    instances: int = 4096
    """Live instances; further ``open`` calls wait."""
    calls: int = field(default_factory=lambda: 16 * (os.cpu_count() or 1))
    """Calls under way; further calls wait, and their deadlines begin when they are sent."""
    memory_mb: int = 8192
    """Private memory of all instances together; above it the largest is killed."""
    zygotes: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    """Fork servers: one a core."""


@dataclass(eq=False, slots=True)
class _Template:
    """A program that is loaded once and forked for each play."""

    zygote: ZygoteProcess
    instance: Instance
    loaded: asyncio.Task[Instance]
    users: int = 0
    held: int = 0
    """Bytes of memory that a play shares with it from the start."""


async def probe() -> dict[str, tuple[bool, str]]:
    """What this host gives: each layer, whether it holds, and what it is or why it is missing (``doctor`` prints it).

    Raises ``SandboxError`` where there can be no sandbox, with the ways out.
    """
    async with ForkServer(PoolLimits(zygotes=1), require=()) as sandbox:
        return await sandbox.layers()


class ForkServer:
    """A ``Sandbox`` of forked, confined children.

    Args:
        pool: what all instances together may use.
        require: the layers without which it refuses to run anything (``support.LAYERS`` names them).
        without: layers to leave off; for tests of the others.
        unsafe: run even where required layers are missing.
    """

    def __init__(
        self,
        pool: PoolLimits | None = None,
        *,
        require: Iterable[str] = support.LEAST,
        without: Iterable[str] = (),
        unsafe: bool = False,
    ) -> None:
        self.pool = pool or PoolLimits()
        self._require = frozenset(require)
        self._without = sorted(without)
        self._unsafe = unsafe
        self._zygotes: dict[tuple[launch.Kind, int], asyncio.Task[ZygoteProcess]] = {}
        self._templates: OrderedDict[tuple[str, Limits], _Template] = OrderedDict()
        self._code: OrderedDict[str, bytes] = OrderedDict()
        self._slots = asyncio.Semaphore(self.pool.instances)
        self._gate = asyncio.Semaphore(self.pool.calls)
        self._waiting = descriptors.Queue()
        self._most_templates = MOST_TEMPLATES
        """Templates that may idle: each holds one descriptor here and two in its zygote."""
        self._auditor: asyncio.Task[None] | None = None
        self._next = 0
        self._closed = False

    async def open(self, source: str, limits: Limits) -> Instance:
        """See ``Sandbox``."""
        if self._closed:
            raise SandboxError(CLOSED, "the sandbox is closed")
        if self._auditor is None:
            self._most_templates = min(MOST_TEMPLATES, descriptors.allow(self.pool.instances) // 8)
            self._auditor = asyncio.create_task(audit.watch(self, self.pool.memory_mb << 20))
        await self._slots.acquire()
        try:
            instance = await self._waiting.run(lambda: self._open(source, limits), self._make_room)
        except BaseException:
            self._slots.release()
            raise
        instance.exited.add_done_callback(lambda _: self._slots.release())
        return instance

    async def layers(self) -> dict[str, tuple[bool, str]]:
        """Each layer: whether it holds, and what it is or why it is missing."""
        return (await self._zygote(launch.Kind(), 0)).layers

    def live(self) -> list[Instance]:
        """All instances, templates included."""
        started = [task.result() for task in self._zygotes.values() if _succeeded(task)]
        return [instance for zygote in started for instance in zygote.instances.values()]

    async def close(self) -> None:
        """See ``Sandbox``."""
        self._closed = True
        if self._auditor is not None:
            self._auditor.cancel()
            await asyncio.gather(self._auditor, return_exceptions=True)
        for task in self._zygotes.values():
            for zygote in await asyncio.gather(task, return_exceptions=True):
                if isinstance(zygote, ZygoteProcess):
                    await zygote.close()
        loads = [template.loaded for template in self._templates.values()]
        await asyncio.gather(*loads, return_exceptions=True)
        self._templates.clear()

    async def __aenter__(self) -> ForkServer:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _open(self, source: str, limits: Limits) -> Instance:
        zygote = await self._zygote(launch.kind_of(source), self._turn())
        if not zygote.layers["templates"][0]:
            return await self._load(zygote.spawn(limits, template=False), source)
        template = self._template(source, limits, zygote)
        template.users += 1
        try:
            if not template.loaded.done():
                await asyncio.shield(template.loaded)
            instance = template.zygote.fork(template.instance, limits)
        except BaseException:
            template.users -= 1
            raise
        template.instance.forking += 1
        try:
            await _or_close(instance, instance.start())
        except ProgramError:
            if isinstance(template.instance.fault, SandboxError):
                raise template.instance.fault from None
            raise
        finally:
            template.instance.forking -= 1
            template.instance.forks += 1
            # Not before: a template let go at a play's death would look as if it had died of the sandbox.
            instance.exited.add_done_callback(lambda _: self._leave(template))
        instance.inherit(template.instance)
        template.held = template.held or held_bytes(template.instance.pid)
        instance.shared_bytes = template.held
        return instance

    def _turn(self) -> int:
        self._next = (self._next + 1) % self.pool.zygotes
        return self._next

    async def _zygote(self, kind: launch.Kind, index: int) -> ZygoteProcess:
        """The zygote of this kind and core, started or restarted if need be."""
        task = self._zygotes.get((kind, index))
        if task is None or (task.done() and (not _succeeded(task) or task.result().dead)):
            support.check_platform()
            task = self._zygotes[kind, index] = asyncio.create_task(self._start(kind))
        return await asyncio.shield(task)

    async def _start(self, kind: launch.Kind) -> ZygoteProcess:
        config = {**launch.describe(kind), "without": self._without}
        with descriptors.opening():
            zygote = ZygoteProcess(config, self._gate)
        try:
            await zygote.ready()
            support.check_layers(zygote.layers, frozenset() if self._unsafe else self._require)
        except BaseException:
            await zygote.close()
            raise
        return zygote

    def _template(self, source: str, limits: Limits, zygote: ZygoteProcess) -> _Template:
        key = (_digest(source), limits)
        template = self._templates.get(key)
        if template is None or template.instance.fault is not None or template.zygote.dead:
            instance = zygote.spawn(limits, template=True)
            template = _Template(zygote, instance, asyncio.create_task(self._load(instance, source)))
            self._templates[key] = template
        self._templates.move_to_end(key)
        self._evict()
        return template

    async def _load(self, instance: Instance, source: str) -> Instance:
        """Start and load, by way of the code cache."""
        digest = _digest(_without_last_comments(source))
        await _or_close(instance, instance.start())
        code = self._code.get(digest)
        if code is None:
            code = self._code[digest] = await _or_close(instance, instance.compile(source))
            if len(self._code) > MOST_CODE:
                self._code.popitem(last=False)
        await _or_close(instance, instance.load(source, code))
        return instance

    def _leave(self, template: _Template) -> None:
        template.users -= 1
        self._evict()

    def _make_room(self) -> bool:
        """Let the template go that nobody used for longest; whether anything lives whose end frees a descriptor."""
        self._evict(len(self._templates) - 1)
        return bool(self.live())

    def _evict(self, most: int | None = None) -> None:
        """Let the templates go that nobody used for longest, beyond those that may idle (``most`` if it is given)."""
        beyond = len(self._templates) - (self._most_templates if most is None else most)
        if beyond <= 0:
            return
        idle = [key for key, template in self._templates.items() if not template.users and template.loaded.done()]
        for key in idle[:beyond]:
            self._templates.pop(key).instance.fail(SandboxError(CLOSED, "the template is not needed any more"))


def _digest(source: str) -> str:
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()


def _without_last_comments(source: str) -> str:
    """The source up to its last line of code: no comment below it changes what it compiles to."""
    end = len(source)
    while end:
        start = source.rfind("\n", 0, end - 1) + 1
        line = source[start:end].strip()
        if line and not line.startswith("#"):
            break
        end = start
    return source[:end]


def _succeeded(task: asyncio.Task[ZygoteProcess]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None


async def _or_close(instance: Instance, wanted: Any) -> Any:
    try:
        return await wanted
    except BaseException:
        await instance.close()
        raise
