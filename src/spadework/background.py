"""One event loop in a background thread, so that people without asyncio can call what is asynchronous inside.

The loop is shared by the whole process. It is apart from the caller's own loop, so a notebook, where a loop already
runs, may call it too. A child that was forked gets a loop of its own: threads do not survive a fork.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from spadework.errors import SpadeworkError

P = ParamSpec("P")
T = TypeVar("T")

_CLOSING_SECONDS = 10.0
"""How long the end of the process waits for sandboxes to close."""


class BackgroundLoop:
    """An event loop that runs in a daemon thread until ``close``."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._process = os.getpid()
        self._closers: list[Callable[[], Awaitable[object]]] = []
        self._thread = threading.Thread(target=self._serve, name="spadework", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run ``work`` on the loop and wait for its result.

        When the waiting thread is interrupted (Ctrl-C), the work is cancelled and has cleaned up before the interrupt
        goes on.

        Raises:
            SpadeworkError: this process is a fork of the loop's, the loop is closed, or the caller is on the loop.
        """
        try:
            self._check_caller()
        except SpadeworkError:
            work.close()
            raise
        task = asyncio.run_coroutine_threadsafe(self._start(work), self._loop).result()
        ended = threading.Event()
        self._loop.call_soon_threadsafe(task.add_done_callback, lambda _: ended.set())
        try:
            ended.wait()
        except BaseException:
            self._loop.call_soon_threadsafe(task.cancel)
            ended.wait()
            raise
        return task.result()

    def begin(self, work: Coroutine[Any, Any, object]) -> None:
        """Run ``work`` without waiting for it; where that is impossible, it is left undone."""
        if os.getpid() != self._process or self._loop.is_closed():
            work.close()
            return
        asyncio.run_coroutine_threadsafe(work, self._loop)

    def at_close(self, closer: Callable[[], Awaitable[object]]) -> None:
        """Have ``closer`` awaited before the loop ends."""
        self._closers.append(closer)

    def is_current(self) -> bool:
        """Whether the caller is a coroutine of this loop."""
        return threading.current_thread() is self._thread

    def close(self) -> None:
        """Cancel what still runs, await the closers, and end the thread. A forked child's copy is left alone."""
        if os.getpid() != self._process or self._loop.is_closed():
            return
        with contextlib.suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(_CLOSING_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSING_SECONDS)
        if not self._thread.is_alive():
            self._loop.close()

    async def _start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        return self._loop.create_task(work)

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.gather(*(closer() for closer in self._closers), return_exceptions=True)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        while True:
            try:
                self._loop.run_forever()
            except (KeyboardInterrupt, SystemExit):
                continue  # a task raised it, and its caller gets it; the loop still serves the others
            return

    def _check_caller(self) -> None:
        if os.getpid() != self._process:
            raise SpadeworkError("this was opened before the process forked; open another one in the child")
        if self._loop.is_closed():
            raise SpadeworkError("spadework's background loop is closed: the process is ending")
        if self.is_current():
            raise SpadeworkError(
                "a synchronous function of spadework was called from a coroutine on spadework's own loop, which it "
                "would block; await its twin there, e.g. play_async for play"
            )


_lock = threading.Lock()
_shared: BackgroundLoop | None = None
_inherited: list[BackgroundLoop] = []
"""Loops of the parents of a forked process: kept, because to collect them would close what their owners still use."""


def background() -> BackgroundLoop:
    """The process's loop, started at the first call and closed at exit."""
    global _shared
    with _lock:
        if _shared is None:
            _shared = BackgroundLoop()
            atexit.register(_shared.close)
        return _shared


def current_background() -> BackgroundLoop | None:
    """The process's loop where the caller is one of its coroutines, else ``None``."""
    return _shared if _shared is not None and _shared.is_current() else None


def blocking(work: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """The synchronous twin of ``NAME_async``, called ``NAME``: it runs on the background loop and waits."""

    @functools.wraps(work)
    def wait(*args: P.args, **kwargs: P.kwargs) -> T:
        return background().run(work(*args, **kwargs))

    wait.__name__ = wait.__qualname__ = work.__name__.removesuffix("_async")
    return wait


def _after_fork() -> None:
    global _lock, _shared
    _lock = threading.Lock()
    if _shared is not None:
        _inherited.append(_shared)
        _shared = None


os.register_at_fork(after_in_child=_after_fork)
