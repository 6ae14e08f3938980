"""A ``Sandbox`` for the environments of packages, beside the one for programs.

The packages are trusted but untidy: they seed global generators, leak threads, and hang on some answers. So they run in
worker processes, and each call has a deadline. A worker that is late or dies is replaced. Because a problem follows
from its name, level and seed, every other session goes on without noticing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from spadework.envs.actions import last_box
from spadework.envs.sandbox.base import Limits, Sandbox, Script, Session, Step, play_singly
from spadework.envs.sandbox.forkserver.inside import wire
from spadework.envs.sandbox.forkserver.kernel_facts import CLOSED, NO_START, death
from spadework.envs.sandbox.packaged.names import Named, parse_named, require, worker_command
from spadework.envs.sandbox.workers import WorkerEndedError, WorkerPool, WorkerStartError
from spadework.errors import ProgramError, SandboxError

START_SECONDS = 60.0
"""Wall seconds that a worker may take to import its package."""
MEMORY_MB = 1_024
"""What a worker may hold beyond what importing took."""


class PackagedSandbox:
    """Opens sources that name an environment of a package; all others go to ``programs``.

    Args:
        programs: the sandbox of programs; closed with this one.
        workers: processes of each package in use; none is started before it is needed.
    """

    def __init__(self, programs: Sandbox, workers: int | None = None) -> None:
        self._programs, self._size = programs, workers
        self._pools: dict[str, WorkerPool] = {}
        self._closed = False

    async def open(self, source: str, limits: Limits) -> Session:
        """See ``Sandbox``."""
        named = parse_named(source)
        if named is None:
            return await self._programs.open(source, limits)
        require(named.package)
        return PackagedSession(self, named, limits)

    def pool(self, package: str) -> WorkerPool:
        """The workers of a package. Raises ``SandboxError`` when closed."""
        if self._closed:
            raise SandboxError(CLOSED, "the sandbox is closed")
        if package not in self._pools:
            self._pools[package] = WorkerPool(worker_command(package, str(MEMORY_MB)), START_SECONDS, self._size)
        return self._pools[package]

    async def ask(self, named: Named, seed: int, request: dict[str, Any], seconds: float) -> Any:
        """The value of a worker's reply about the problem of ``seed``, for which the same worker is always asked.

        Raises ``ProgramError`` for the package's failures, ``SandboxError`` for the worker's.
        """
        problem = {"name": named.name, "difficulty": named.difficulty, "seed": seed}
        try:
            reply = await self.pool(named.package).ask(f"{named}#{seed}", {**request, **problem}, seconds)
        except TimeoutError:
            raise ProgramError(wire.HANG, f"{request['do']} gave no answer within {seconds:g} s") from None
        except WorkerStartError as error:
            raise SandboxError(NO_START, f"{named.package}: {error}") from None
        except WorkerEndedError as error:
            if error.status is None:
                raise ProgramError(wire.TOO_LONG, f"{request['do']}: {error}") from None
            raise death(error.status) from None
        if "fault" in reply:
            raise ProgramError(*reply["fault"])
        return reply["value"]

    async def close(self) -> None:
        """See ``Sandbox``."""
        self._closed = True
        await asyncio.gather(self._programs.close(), *(pool.close() for pool in self._pools.values()))


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
        request = {"do": do, "action": action}
        return await self._sandbox.ask(self._named, self._seed, request, self._limits.wall_seconds)
