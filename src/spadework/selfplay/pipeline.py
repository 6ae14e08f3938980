"""Units of work that lead to one another: what a unit makes possible starts as soon as that unit has ended.

With a ``barrier`` it starts only when all that runs has ended, in the order of keys: then what runs together depends
on the work alone and never on who was quick, as a deterministic engine needs. Both ways are this one loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from spadework.types import Key

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Unit:
    """A piece of work; ``then`` takes its result and may add and drop units."""

    key: Key
    work: Callable[[], Coroutine[Any, Any, Any]]
    then: Callable[[Any], None]
    task: asyncio.Task[Any] | None = None
    dropped: bool = False


class Pipeline:
    """Runs units to their end.

    Args:
        barrier: whether follow-ups wait until all that runs has ended.
        together: held while units start, so that an engine sees all of them before it begins (``Policy.attend``).
    """

    def __init__(self, *, barrier: bool, together: Callable[[], AbstractContextManager[Any]]) -> None:
        self._barrier, self._together = barrier, together
        self._due: list[Unit] = []
        self._running: set[Unit] = set()
        self._ended: deque[Unit] = deque()
        self._wake = asyncio.Event()

    def add(self, key: Key, work: Callable[[], Coroutine[Any, Any, T]], then: Callable[[T], None]) -> Unit:
        """Put a unit in; it starts at the next turn of ``run``."""
        unit = Unit(key, work, then)
        self._due.append(unit)
        return unit

    def drop(self, units: Iterable[Unit]) -> None:
        """Forget units: those that run are cancelled, and nobody is told of their results."""
        for unit in units:
            unit.dropped = True
            if unit.task is not None:
                unit.task.cancel()
        self._due = [unit for unit in self._due if not unit.dropped]

    async def run(self, deadline: Callable[[], float | None] = lambda: None) -> bool:
        """Until nothing is left, or until ``deadline`` (by the loop's clock) has passed: then what runs runs on.

        Returns:
            Whether nothing is left. An error of any unit ends all of them and is raised.
        """
        try:
            while self._due or self._running or self._ended:
                await self._start()
                in_time = await self._wait(deadline())
                self._tell()
                if not in_time:
                    return False
            return True
        except BaseException:
            await self.stop()
            raise

    async def stop(self, keep: Collection[asyncio.Task[Any]] = ()) -> None:
        """Cancel all that runs but the tasks in ``keep``, and wait for its end."""
        self._due = []
        tasks = [unit.task for unit in self._running if unit.task is not None and unit.task not in keep]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _start(self) -> None:
        if not self._due:
            return
        due, self._due = sorted(self._due, key=lambda unit: unit.key), []
        with self._together():
            for unit in due:
                unit.task = asyncio.create_task(unit.work())
                self._running.add(unit)
                unit.task.add_done_callback(partial(self._end, unit))
            await asyncio.sleep(0)  # all have begun, and attend, before anyone's first batch may start

    def _end(self, unit: Unit, task: asyncio.Task[Any]) -> None:
        self._running.discard(unit)
        self._ended.append(unit)
        failed = not task.cancelled() and task.exception() is not None
        if not self._barrier or not self._running or failed:
            self._wake.set()

    async def _wait(self, deadline: float | None) -> bool:
        try:
            async with asyncio.timeout_at(deadline):
                await self._wake.wait()
        except TimeoutError:
            return False
        finally:
            self._wake.clear()
        return True

    def _tell(self) -> None:
        ended = sorted(self._ended, key=lambda unit: unit.key)
        self._ended.clear()
        for unit in ended:
            assert unit.task is not None
            if not unit.dropped:
                unit.then(unit.task.result())
