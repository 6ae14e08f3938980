"""One run of the method, from its config and store to its last cycle."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine, Sequence
from typing import Any

from spadework import build
from spadework.config import RunConfig
from spadework.policies.server.preflight import preflight
from spadework.runs.metrics import Sink
from spadework.runs.store import RunStore
from spadework.selfplay.loop import Observer, SelfPlay


async def train_run(config: RunConfig, store: RunStore, observer: Observer, watchers: Sequence[Sink] = ()) -> None:
    """Train from the store's last checkpoint to the end; ``watchers`` get each cycle's metrics after its commit."""
    corpus = build.build_corpus(config)
    if corpus is not None and corpus.broken:
        observer.note(f"corpus: {corpus.broken} broken lines of {corpus.path} left out")
    sandbox = build.build_sandbox(config)
    try:
        await build.check_sandbox(sandbox)
        engine = await build.build_warm_engine(config, sandbox, observer.note)
        author = await build.build_author(config, sandbox, observer.note)
        await preflight(author)
        stages = build.build_stages(config, sandbox, corpus, author)
        stages.evaluate = build.build_evaluator(config, sandbox, store.path)
        checkpoint = store.last_checkpoint()
        sinks = [*build.build_sinks(config, store.path, checkpoint.cycle + 1 if checkpoint else 0), *watchers]
        try:
            await SelfPlay(config, stages, observer).run(engine.policy, engine.trainer, store, sinks)
        finally:
            for sink in sinks:
                sink.close()
            for policy in (engine.policy, author):
                if policy is not None:
                    await policy.close()
    finally:
        await sandbox.close()


async def until_stopped(work: Coroutine[Any, Any, None]) -> bool:
    """Run until done or until Ctrl-C, which waits for a write in flight; returns whether it was stopped."""
    task = asyncio.ensure_future(work)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        return True
    except BaseExceptionGroup as group:
        raise _first(group) from group
    return False


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
