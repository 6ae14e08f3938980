"""Validation of a design where the sandbox fails."""

from __future__ import annotations

from typing import Any

import pytest

from spadework.domains.games import GAMES
from spadework.envs.check.runtime import RuntimeChecks
from spadework.envs.sandbox.base import Limits
from spadework.envs.sandbox.process import ProcessSandbox
from spadework.errors import SandboxError
from spadework.selfplay.design.validation import Validator


class Failing:
    """A sandbox whose first opens fail."""

    def __init__(self, sandbox: ProcessSandbox, times: int) -> None:
        self.sandbox, self.left = sandbox, times

    async def open(self, source: str, limits: Limits) -> Any:
        if self.left:
            self.left -= 1
            raise SandboxError("SBX004", "lost")
        return await self.sandbox.open(source, limits)


async def test_a_fault_of_the_sandbox_is_tried_once_more(sandbox: ProcessSandbox, game: str) -> None:
    checks = RuntimeChecks(seeds=2, panel=False)
    once = await Validator(Failing(sandbox, 1), GAMES, checks)(game)
    assert (once.findings, once.ran) == ((), True), "it says nothing about the program"
    with pytest.raises(SandboxError, match="lost"):
        await Validator(Failing(sandbox, 99), GAMES, checks)(game)
