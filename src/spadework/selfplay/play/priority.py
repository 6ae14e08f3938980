"""Give checks of programs priority over new plays.

A check is pure CPU work, and its program's hint and plays wait for it; a play mostly waits for its model. When many
programs arrive at once, plays that start between their checks would delay all of them.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

PATIENCE = 1.0
"""The most seconds that a play waits, so that long checks do not leave the model idle."""


class CheckPriority:
    """Holds back the plays of a cycle while programs are checked."""

    def __init__(self) -> None:
        self._checks = 0
        self._free = asyncio.Event()

    @contextlib.contextmanager
    def checking(self) -> Iterator[None]:
        """The context in which a program is checked."""
        self._checks += 1
        self._free.clear()
        try:
            yield
        finally:
            self._checks -= 1
            if not self._checks:
                self._free.set()

    async def wait(self) -> None:
        """Wait until no program is checked, or until ``PATIENCE`` has run out."""
        if self._checks:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await self._free.wait()
