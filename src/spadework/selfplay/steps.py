"""When the steps of a cycle run: at once, or in waves whose order depends on their keys alone.

A cycle is a set of coroutines, one for each slot and environment. Whatever takes time in them (an attempt at a design,
a hint, an episode) is a *step*. By default a step starts when it is asked for. A deterministic run needs more: what
shares a batch of the engine, and which of two equal programs came first, must not depend on who was quick. There steps
run in waves. A wave starts, in the order of keys, when every coroutine waits; when all of its steps have ended, the
coroutines go on, in the order of the keys that they waited for. The coroutines read the same in both modes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from spadework.types import Key

T = TypeVar("T")

Work = Callable[[], Coroutine[Any, Any, T]]


@dataclass(slots=True, eq=False)
class Step(Generic[T]):
    """A piece of work that was asked for. ``task`` is there once it has started."""

    key: Key
    work: Work[T]
    task: asyncio.Task[T] | None = None
    dropped: bool = False

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self.task is not None and self.task.done()

    @property
    def result(self) -> T:
        """What its work returned; only for a step that is done."""
        assert self.task is not None
        return self.task.result()


@dataclass(slots=True, eq=False)
class _Waiter:
    """A coroutine that waits until none of its steps is left."""

    key: Key
    left: set[Step[Any]]
    future: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Steps:
    """Starts steps, and lets coroutines wait for them.

    Args:
        waves: whether steps run in waves, for a deterministic run.
        together: held while a wave starts, so that the engine sees all of it before it begins (``Policy.attend``).
    """

    def __init__(self, *, waves: bool, together: Callable[[], AbstractContextManager[Any]]) -> None:
        self._waves, self._together = waves, together
        self._active = 0
        """Coroutines that run and may still ask for steps: no wave starts before all of them wait."""
        self._due: list[Step[Any]] = []
        self._running: set[Step[Any]] = set()
        self._waiters: list[_Waiter] = []

    def spawn(self, group: asyncio.TaskGroup, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a coroutine that asks for steps. It may wait for nothing but steps."""

        async def run() -> None:
            try:
                await coroutine
            finally:
                self._pause()

        self._active += 1  # now and not in run(), which starts later: until then no wave may start without it
        return group.create_task(run())

    def start(self, key: Key, work: Work[T]) -> Step[T]:
        """Ask for a step: it starts at once, or with the next wave."""
        step = Step(key, work)
        if self._waves:
            self._due.append(step)
        else:
            self._begin(step)
        return step

    async def run(self, key: Key, work: Work[T]) -> T:
        """Ask for a step and wait for its result."""
        step = self.start(key, work)
        await self.wait([step])
        return step.result

    async def wait(self, steps: Iterable[Step[Any]]) -> None:
        """Wait until all of them have ended. Raises what any step of the cycle raises: an error ends the cycle."""
        left = {step for step in steps if not step.done}
        if not left:
            return
        waiter = _Waiter(min(step.key for step in left), left)
        self._waiters.append(waiter)
        self._pause()
        try:
            await waiter.future
        finally:
            if waiter in self._waiters:  # cancelled: nobody has woken it
                self._wake(waiter)

    def drop(self, steps: Iterable[Step[Any]]) -> None:
        """Cancel steps that nobody waits for."""
        for step in steps:
            step.dropped = True
            if step in self._due:
                self._due.remove(step)
            if step.task is not None:
                step.task.cancel()

    async def stop(self, keep: Collection[asyncio.Task[Any]] = ()) -> None:
        """Cancel all that runs but the tasks in ``keep``, and wait for its end."""
        self._due.clear()
        tasks = [step.task for step in self._running if step.task is not None and step.task not in keep]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _pause(self) -> None:
        """Note that a coroutine waits or has ended. If it was the last that ran, the next wave starts."""
        self._active -= 1
        if self._active or self._running or not self._due:
            return
        wave = sorted(self._due, key=lambda step: step.key)
        self._due.clear()
        held = self._together()
        held.__enter__()
        for step in wave:
            self._begin(step)
        # The tasks take their first turn before this callback: by then all of them attend by themselves.
        asyncio.get_running_loop().call_soon(held.__exit__, None, None, None)

    def _begin(self, step: Step[Any]) -> None:
        """Start a step."""
        step.task = asyncio.create_task(step.work())
        self._running.add(step)
        step.task.add_done_callback(partial(self._end, step))

    def _end(self, step: Step[Any], task: asyncio.Task[Any]) -> None:
        """Note that a step has ended, and wake the coroutines that waited for it alone."""
        self._running.discard(step)
        error = None if task.cancelled() else task.exception()
        if error is not None and not step.dropped:
            # An error ends the cycle, so it is raised in every coroutine that waits.
            self._due.clear()
            for waiter in list(self._waiters):
                self._wake(waiter, error)
            return
        for waiter in self._waiters:
            waiter.left.discard(step)
        if self._waves and self._running:
            # The coroutines wait for the whole wave. Woken one by one they would go on in the order of their speed.
            return
        for waiter in sorted(self._waiters, key=lambda waiter: waiter.key):
            if not waiter.left:
                self._wake(waiter)

    def _wake(self, waiter: _Waiter, error: BaseException | None = None) -> None:
        """Let a coroutine go on, or raise an error in it."""
        self._waiters.remove(waiter)
        # It counts as running from here on: no wave may start between this call and its next turn.
        self._active += 1
        if waiter.future.done():
            return
        if error is None:
            waiter.future.set_result(None)
        else:
            waiter.future.set_exception(error)
