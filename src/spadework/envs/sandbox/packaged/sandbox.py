"""A ``Sandbox`` for the environments of packages, beside the one for programs.

The packages are trusted but untidy: they seed global generators, leak threads, hang on some answers. So they run in
worker processes, each call under a deadline; a worker that overruns or dies is replaced, and because a problem follows
from its name, level and seed, every other session goes on without noticing.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Any

from spadework.envs.actions import last_box
from spadework.envs.sandbox.base import Limits, Sandbox, Script, Session, Step, play_singly
from spadework.envs.sandbox.forkserver.inside import wire
from spadework.envs.sandbox.forkserver.kernel_facts import CLOSED, NO_START, death
from spadework.envs.sandbox.packaged.names import Named, parse_named, require, worker_command
from spadework.envs.sandbox.workers import exchange, worker_environment
from spadework.errors import ProgramError, SandboxError
from spadework.types import derive_seed

START_SECONDS = 60.0
"""Wall seconds that a worker may take to import its package."""
MEMORY_MB = 1_024
"""What a worker may hold beyond what importing took."""
LONGEST_REPLY = 1 << 22


class PackagedSandbox:
    """Opens sources that name an environment of a package; all others go to ``programs``.

    Args:
        programs: the sandbox of programs; closed with this one.
        workers: processes of each package in use; none is started before it is needed.
    """

    def __init__(self, programs: Sandbox, workers: int | None = None) -> None:
        self._programs = programs
        self._count = workers or min(4, os.cpu_count() or 1)
        self._workers: dict[tuple[str, int], WorkerProcess] = {}
        self._closed = False

    async def open(self, source: str, limits: Limits) -> Session:
        """See ``Sandbox``."""
        named = parse_named(source)
        if named is None:
            return await self._programs.open(source, limits)
        require(named.package)
        return PackagedSession(self, named, limits)

    def worker(self, named: Named, seed: int) -> WorkerProcess:
        """Whose task a problem is: always the same one's, which keeps it. Raises ``SandboxError`` when closed."""
        if self._closed:
            raise SandboxError(CLOSED, "the sandbox is closed")
        place = (named.package, derive_seed(seed, str(named)) % self._count)
        if place not in self._workers:
            self._workers[place] = WorkerProcess(named.package)
        return self._workers[place]

    async def close(self) -> None:
        """See ``Sandbox``."""
        self._closed = True
        await asyncio.gather(self._programs.close(), *(worker.close() for worker in self._workers.values()))


class PackagedSession:
    """A ``Session`` of one turn: the problem, an answer, and what it pays."""

    max_turns = 1
    tools = ()

    def __init__(self, sandbox: PackagedSandbox, named: Named, limits: Limits) -> None:
        self._sandbox, self._named, self._limits = sandbox, named, limits
        self._seed: int | None = None

    async def reset(self, seed: int) -> Step:
        """See ``Session``."""
        self._seed = seed
        question = await self._ask("reset")
        if len(question) > self._limits.max_observation:
            most = self._limits.max_observation
            raise ProgramError(wire.TOO_LONG, f"{len(question)} characters of observation; the limit is {most}")
        return Step(question)

    async def step(self, action: str) -> Step:
        """See ``Session``. Ends the episode."""
        reward = await self._ask("step", last_box(action) or "")
        return Step("Right." if reward >= 1.0 else "Wrong.", reward, terminated=True)

    async def play(self, scripts: Sequence[Script]) -> list[list[Step]]:
        """See ``Session``."""
        return await play_singly(self, scripts)

    async def call(self, method: str, *args: Any) -> Any:
        """See ``Session``: there is ``solution`` alone, ``None`` where the package knows none."""
        if method != "solution":
            raise ProgramError(wire.NO_METHOD, f"the environment has no method {method}()")
        return await self._ask("solution")

    async def close(self) -> None:
        """See ``Session``."""

    async def _ask(self, do: str, action: str = "") -> Any:
        if self._seed is None:
            raise ProgramError(wire.RAISED, f"{do} before reset")
        worker = self._sandbox.worker(self._named, self._seed)
        problem = {"name": self._named.name, "difficulty": self._named.difficulty, "seed": self._seed}
        return await worker.ask({"do": do, "action": action, **problem}, self._limits.wall_seconds)


class WorkerProcess:
    """One worker and its successors, asked one thing at a time."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()
        self._hung: dict[tuple[Any, ...], str] = {}

    async def ask(self, request: dict[str, Any], seconds: float) -> Any:
        """The reply's value. Raises ``ProgramError`` for the package's failures, ``SandboxError`` for the worker's."""
        asked = tuple(request.values())
        async with self._turn:
            if asked in self._hung:  # a group shares its problem: no use in waiting once for each of its episodes
                raise ProgramError(wire.HANG, self._hung[asked])
            process = self.process or await self._start()
            try:
                async with asyncio.timeout(seconds):
                    reply = await self._exchange(process, request)
            except TimeoutError:
                await self.close()
                self._hung[asked] = f"{request['do']} gave no answer within {seconds:g} s"
                raise ProgramError(wire.HANG, self._hung[asked]) from None
            except BaseException:  # cancelled half-way: the reply would be taken for the next one's
                await self.close()
                raise
            if reply.pop("tired"):
                await self.close()
        if "fault" in reply:
            raise ProgramError(*reply["fault"])
        return reply["value"]

    async def _exchange(self, process: asyncio.subprocess.Process, request: dict[str, Any]) -> dict[str, Any]:
        reply = await exchange(process, request)
        if reply is None:
            raise death(await process.wait())
        return reply

    async def _start(self) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            *worker_command(self.package, str(MEMORY_MB)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=worker_environment(),
            limit=LONGEST_REPLY,
        )
        self.process = process
        try:
            async with asyncio.timeout(START_SECONDS):
                await self._exchange(process, {"do": "ready"})
        except (TimeoutError, ProgramError, SandboxError) as error:
            await self.close()
            raise SandboxError(NO_START, f"a worker of {self.package} did not start: {error}") from None
        except BaseException:  # cancelled: what it says when it is ready would be taken for the next reply
            await self.close()
            raise
        return process

    async def close(self) -> None:
        """Kill the process; the next ``ask`` starts another."""
        process, self.process = self.process, None
        if process is not None and process.returncode is None:
            process.kill()
            await process.wait()
