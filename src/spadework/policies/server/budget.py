"""How many requests an endpoint gets at once: more while it answers, half when it pushes back (AIMD).

The limit grows by about one for each full round of answers and is halved by a sign of overload, at most once for what
was under way when the sign came: one burst of refusals is one sign.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Slot:
    """A request under way; ``round`` is the number of cuts when it began."""

    round: int
    overloaded: bool = False
    """Set by its holder where the endpoint pushed back."""
    answered: bool = False
    """Set by its holder where the endpoint answered."""


class Budget:
    """Admits requests in order, at most ``limit`` at once.

    Args:
        most: the limit never grows above it, and starts there.
        least: nor falls below it.
    """

    def __init__(self, most: int, least: int = 1) -> None:
        self.most, self.least = most, least
        self.limit = float(most)
        self.busy = 0
        self.cuts = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[Slot]:
        """Wait for room; what the holder sets on the slot moves the limit when it is let go of."""
        if self.busy >= int(self.limit) or self._waiting:
            await self._wait()
        else:
            self.busy += 1
        slot = Slot(self.cuts)
        try:
            yield slot
        finally:
            self.busy -= 1
            self._learn(slot)
            self._admit()

    async def _wait(self) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # admitted and cancelled in one go: hand the room on
                self.busy -= 1
                self._admit()
            raise

    def _learn(self, slot: Slot) -> None:
        if slot.overloaded and slot.round == self.cuts:
            self.cuts += 1
            self.limit = max(float(self.least), self.limit / 2)
        elif slot.answered:
            self.limit = min(float(self.most), self.limit + 1 / self.limit)

    def _admit(self) -> None:
        while self._waiting and self.busy < int(self.limit):
            turn = self._waiting.popleft()
            if not turn.done():
                self.busy += 1
                turn.set_result(None)
