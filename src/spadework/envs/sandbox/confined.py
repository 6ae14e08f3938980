"""Graders that a package brings, away from what they judge: some evaluate a model's text as code, some hang on it.

Each works in processes of its own. What prepares a problem is trusted and runs there; each judgement runs in a forked
child that has given up files, network and processes, and is killed after some seconds of CPU time.
"""

from __future__ import annotations

import sys
from typing import Any

from spadework.envs.sandbox.forkserver.support import check_platform
from spadework.envs.sandbox.workers import WorkerEndedError, WorkerPool, WorkerStartError
from spadework.errors import GraderError

PREPARE_SECONDS = 600.0
"""Wall seconds that importing a package, or making one problem, may take."""


class ConfinedGrader:
    """Worker processes that serve ``MODULE`` (see ``worker_process``), started when they are needed.

    Args:
        module: name of a module with ``prepare(**asked)`` and ``judge(text, **asked)``, JSON in and out.
        workers: how many at most; equal ``name``s always go to the same one, which may keep what it made.
    """

    def __init__(self, module: str, workers: int | None = None) -> None:
        command = [sys.executable, "-m", "spadework.envs.sandbox.worker_process", module]
        self._pool = WorkerPool(command, PREPARE_SECONDS, workers)

    async def prepare(self, name: str, **asked: Any) -> Any:
        """What ``prepare`` returns. Raises ``GraderError``."""
        return await self._ask({"do": "prepare", "name": name, **asked})

    async def judge(self, name: str, text: str, **asked: Any) -> Any:
        """What ``judge`` returns. Raises ``GraderError``, and ``SandboxError`` where nothing can be confined."""
        check_platform()
        return await self._ask({"do": "judge", "name": name, "text": text, **asked})

    async def close(self) -> None:
        """Kill the workers."""
        await self._pool.close()

    async def _ask(self, request: dict[str, Any]) -> Any:
        name = request["name"]
        try:
            reply = await self._pool.ask(name, request, PREPARE_SECONDS)
        except TimeoutError:
            raise GraderError("HANG", f"{name}: nothing within {PREPARE_SECONDS:g} s") from None
        except (WorkerEndedError, WorkerStartError) as error:
            raise GraderError("DIED", f"{name}: the grader's process: {error}") from None
        if "fault" in reply:
            code, message = reply["fault"]
            raise GraderError(str(code), f"{name}: {message}")
        return reply["value"]
