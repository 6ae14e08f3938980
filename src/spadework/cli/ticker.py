"""A sign of life while something takes long: how far it is and for how long it has been at it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from rich.console import Console

FIRST_SECONDS, NEXT_SECONDS = 2.0, 10.0
"""Until the first sign, and between two lines where there is no terminal to write one line over."""


class Ticker:
    """``async with Ticker(console, state):`` shows ``state()`` and the seconds, from the second one on.

    Args:
        console: Where; a terminal shows one line that is written over, anything else a line every ten seconds.
        state: Gives what is done so far, as ``3 of 64 episodes``.
    """

    def __init__(self, console: Console, state: Callable[[], str]) -> None:
        self._console, self._state = console, state
        self._began = time.monotonic()
        self._line = console.status("")
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Ticker:
        self._began = time.monotonic()
        self._task = asyncio.create_task(self._tick())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()
        self._line.stop()

    async def _tick(self) -> None:
        await asyncio.sleep(FIRST_SECONDS)
        if self._console.is_terminal:
            self._line.start()
        while True:
            text = f"{self._state()}, {time.monotonic() - self._began:.0f} s"
            if self._console.is_terminal:
                self._line.update(text)
                await asyncio.sleep(1.0)
            else:
                self._console.print(text, soft_wrap=True, markup=False)
                await asyncio.sleep(NEXT_SECONDS)
