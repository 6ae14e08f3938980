"""One run of the method, from its config and store to its last cycle."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from types import FrameType
from typing import Any, NoReturn

from spadework import build
from spadework.config import RunConfig
from spadework.errors import first_error
from spadework.observer import Observer
from spadework.policies.server.preflight import preflight
from spadework.runs.metrics import Sink
from spadework.runs.store import RunStore
from spadework.selfplay.loop import SelfPlay

_SAME_SIGNAL_SECONDS = 0.5
"""Within so many seconds of the first signal another is taken for its echo: shells and launchers often send two."""


async def train_run(config: RunConfig, store: RunStore, observer: Observer, watchers: Sequence[Sink] = ()) -> None:
    """Train from the store's last checkpoint to the end; ``watchers`` get each cycle's metrics after its commit.

    When a new run fails before its first cycle is stored, its directory is deleted, so that the same call can be made
    again. One that is cancelled stays, and can be resumed. Raises ``SpadeworkError``.
    """
    try:
        await _train(config, store, observer, watchers)
    except Exception:
        store.discard_if_unstarted()
        raise


async def _train(config: RunConfig, store: RunStore, observer: Observer, watchers: Sequence[Sink]) -> None:
    corpus = build.build_corpus(config)
    if corpus is not None and corpus.broken:
        observer.note(f"corpus: {corpus.broken} broken lines of {corpus.path} left out")
    async with AsyncExitStack() as cleanup:
        sandbox = build.build_sandbox(config)
        cleanup.push_async_callback(sandbox.close)
        await build.check_sandbox(sandbox)
        engine = await build.build_warm_engine(config, sandbox, observer.note)
        cleanup.push_async_callback(engine.policy.close)
        author = await build.build_author(config, sandbox, observer.note)
        if author is not None:
            cleanup.push_async_callback(author.close)
        await preflight(author)
        stages = build.build_stages(config, sandbox, corpus, author)
        stages.evaluate = build.build_evaluator(config, sandbox, store.path)
        sinks = [*build.build_sinks(config, store, observer.note), *watchers]
        for sink in sinks:
            cleanup.callback(sink.close)
        await SelfPlay(config, stages, observer).run(engine.policy, engine.trainer, store, sinks)


REQUEUE = 75
"""Exit status of a run that another job should go on with: SIGTERM or ``run.max_hours`` ended it, and all is stored
(``EX_TEMPFAIL`` of sysexits.h)."""


async def until_stopped(work: Coroutine[Any, Any, None]) -> int:
    """Run until done or until Ctrl-C or SIGTERM; returns the exit status that this calls for.

    0 means that the work was done, 130 that Ctrl-C ended it, and ``REQUEUE`` that SIGTERM did.

    The first signal cancels the work, which then waits for a write in flight. A later one ends the process at once:
    what is stored survives that as it survives a kill.
    """
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    first: float | None = None
    status = 0

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal first, status
        if first is None:
            first = time.monotonic()
            status = REQUEUE if number == signal.SIGTERM else 130
            loop.call_soon_threadsafe(task.cancel)
        elif time.monotonic() - first > _SAME_SIGNAL_SECONDS:
            _leave_at_once()

    # Not loop.add_signal_handler: that one hears nothing while Python code keeps the loop, e.g. while torch is loaded.
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        await task
    except asyncio.CancelledError:
        return status or 130
    except BaseExceptionGroup as group:
        raise first_error(group) from group
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 0


def _leave_at_once() -> NoReturn:
    """End the process without waiting for its threads, and give a terminal its cursor back."""
    if sys.stdout.isatty():
        os.write(sys.stdout.fileno(), b"\x1b[?25h\n")
    os._exit(130)
