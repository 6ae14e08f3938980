"""Graders that a package brings, away from what they judge: some evaluate a model's text as code, some hang on it.

Each works in processes of its own. What prepares a problem is trusted and runs there; each judgement runs in a forked
child that has given up files, network and processes, and is killed after some seconds of CPU time.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from spadework.envs.sandbox.forkserver.support import check_platform
from spadework.envs.sandbox.workers import exchange, worker_environment
from spadework.errors import GraderError
from spadework.types import derive_seed

PREPARE_SECONDS = 600.0
"""Wall seconds that importing a package and making one problem may take."""
_LONGEST = 1 << 24


class ConfinedGrader:
    """Worker processes that serve ``MODULE`` (see ``confined_worker``), started when they are needed.

    Args:
        module: name of a module with ``prepare(**asked)`` and ``judge(text, **asked)``, JSON in and out.
        workers: how many at most; equal ``name``s always go to the same one, which may keep what it made.
    """

    def __init__(self, module: str, workers: int | None = None) -> None:
        self._workers = [_Worker(module) for _ in range(workers or min(4, os.cpu_count() or 1))]

    async def prepare(self, name: str, **asked: Any) -> Any:
        """What ``prepare`` returns. Raises ``GraderError``."""
        return await self._of(name).ask({"do": "prepare", "name": name, **asked})

    async def judge(self, name: str, text: str, **asked: Any) -> Any:
        """What ``judge`` returns. Raises ``GraderError``, and ``SandboxError`` where nothing can be confined."""
        check_platform()
        return await self._of(name).ask({"do": "judge", "name": name, "text": text, **asked})

    async def close(self) -> None:
        """Kill the workers."""
        await asyncio.gather(*(worker.close() for worker in self._workers))

    def _of(self, name: str) -> _Worker:
        return self._workers[derive_seed(0, name) % len(self._workers)]


class _Worker:
    """One process and its successors, asked one thing at a time."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()

    async def ask(self, request: dict[str, Any]) -> Any:
        async with self._turn:
            process = self._process or await self._start()
            try:
                async with asyncio.timeout(PREPARE_SECONDS):
                    reply = await _exchange(process, request)
            except TimeoutError:
                await self.close()
                raise GraderError("HANG", f"{request['name']}: nothing within {PREPARE_SECONDS:g} s") from None
            except BaseException:  # cancelled half-way: the reply would be taken for the next one's
                await self.close()
                raise
        if "fault" in reply:
            code, message = reply["fault"]
            raise GraderError(str(code), f"{request['name']}: {message}")
        return reply["value"]

    async def _start(self) -> asyncio.subprocess.Process:
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "spadework.envs.sandbox.confined_worker", self._module),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=worker_environment(),
            limit=_LONGEST,
        )
        return self._process

    async def close(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            process.kill()
            await process.wait()


async def _exchange(process: asyncio.subprocess.Process, request: dict[str, Any]) -> dict[str, Any]:
    reply = await exchange(process, request)
    if reply is None:
        raise GraderError("DIED", f"the grader's process ended with status {await process.wait()}")
    return reply
