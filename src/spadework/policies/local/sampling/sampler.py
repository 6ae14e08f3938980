"""The asynchronous side of the embedded sampler: requests queue, and one worker thread runs the model step by step.

In deterministic mode a step is only taken when everyone inside ``attend`` waits for a reply, and requests are admitted
in the order of their keys. Which requests share a batch then depends on who takes part and not on who was quick, so
with one CPU thread two runs agree bit for bit. The model stands still while any participant computes.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import TypeVar

from spadework.errors import ModelError
from spadework.policies.base import Completion, SamplingParams
from spadework.policies.local.sampling.continuous_batch import ContinuousBatch, Outcome, Request
from spadework.policies.local.sampling.grammar import Grammars
from spadework.types import Key

T = TypeVar("T")

_STEPS = 16
"""The most steps that one call in the worker thread takes while no reply ends and no request can be admitted. Going
back to the event loop after each step would slow down a small model."""


class LocalSampler:
    """``chat.Sampler`` over a ``ContinuousBatch``.

    Args:
        batch: Used in the worker thread alone.
        grammars: Compiler of grammars.
        worker: Executor with one thread, in which all of the model's work happens.
        deterministic: Whether to wait for everyone inside ``attend`` before a step.
    """

    def __init__(self, batch: ContinuousBatch, grammars: Grammars, worker: Executor, *, deterministic: bool) -> None:
        self._batch = batch
        self._grammars = grammars
        self._worker = worker
        self._deterministic = deterministic
        self._attending = 0
        """Participants inside ``attend``."""
        self._queue: list[Request] = []
        """Requests that are not in the batch yet."""
        self._futures: dict[Request, asyncio.Future[Completion]] = {}
        """The future of each request that somebody waits for, whether it is queued or in the batch."""
        self._driver: asyncio.Task[None] | None = None
        """The task that takes steps. It exists while somebody waits for a reply."""
        self._wake = asyncio.Event()

    async def sample(self, tokens: Sequence[int], params: SamplingParams, key: Key) -> Completion:
        """Queue a request and wait for its reply; cancelling the wait frees its slot. Raises ``ModelError``."""
        matcher = self._grammars.matcher(params.grammar) if params.grammar else None
        request = Request(tuple(tokens), params, key, matcher)
        future: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        self._futures[request] = future
        self._queue.append(request)
        self._wake_driver()
        try:
            return await future
        finally:
            request.done = True
            self._futures.pop(request, None)
            if request in self._queue:
                self._queue.remove(request)
            self._wake.set()

    @contextmanager
    def attend(self) -> Iterator[None]:
        """Take part: in deterministic mode no step is taken until this participant waits for a reply too.

        Do not nest it: one task would count twice. Inside it, wait for nothing that another participant only gives
        after its next reply: no step would ever be taken.
        """
        self._attending += 1
        try:
            yield
        finally:
            self._attending -= 1
            self._wake.set()

    async def run(self, work: Callable[[], T]) -> T:
        """Run something on the worker, between two steps."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, work)

    async def close(self) -> None:
        """Stop; whoever still waits gets a ``ModelError``. The worker ends and keys and values are let go."""
        self._fail(ModelError("CLOSED", "the policy was closed"))
        if self._driver is not None and not self._driver.done():
            self._driver.cancel()
            await asyncio.gather(self._driver, return_exceptions=True)
        await asyncio.to_thread(self._worker.shutdown)
        self._batch.abort()

    def _wake_driver(self) -> None:
        """Start the driver, or let a waiting one look at the queue again."""
        loop = asyncio.get_running_loop()
        # A policy outlives event loops where a caller runs several in turn, and a task and an event belong to one.
        if self._driver is None or self._driver.done() or self._driver.get_loop() is not loop:
            self._wake = asyncio.Event()
            self._driver = loop.create_task(self._drive())
        self._wake.set()

    async def _drive(self) -> None:
        """Take steps while anyone waits for a reply; ends by itself when nobody does."""
        try:
            while self._futures:
                if self._deterministic and len(self._futures) < self._attending:
                    # Somebody inside ``attend`` still computes, and may ask for a reply that belongs into this step.
                    self._wake.clear()
                    await self._wake.wait()
                    continue
                admitted = self._take()
                outcomes = await self.run(self._visit(admitted))
                self._deliver(outcomes)
                # Those who got a reply take their turn before the next step, and may ask for another reply.
                await asyncio.sleep(0)
        except Exception as error:  # noqa: BLE001 - any error goes to those who wait, who raise it
            cause = f"the model failed: {type(error).__name__}: {error}"
            self._fail(ModelError("ENGINE", cause, detail=traceback.format_exc()))
            self._batch.abort()
        finally:
            # Whatever ended the driver, nobody is left waiting for it.
            self._fail(ModelError("ENGINE", "the sampler stopped"))

    def _take(self) -> list[Request]:
        """Take the requests to admit next off the queue, in the order of their keys."""
        self._queue.sort(key=lambda request: request.key)
        free = self._batch.free
        admitted = self._queue[:free]
        self._queue = self._queue[free:]
        return admitted

    def _visit(self, admitted: list[Request]) -> Callable[[], list[tuple[Request, Outcome]]]:
        """Make the call for the worker thread: up to ``_STEPS`` steps, until a reply ends or a request can enter."""

        def visit() -> list[tuple[Request, Outcome]]:
            outcomes = self._batch.step(admitted)
            for _ in range(_STEPS - 1):
                # In deterministic mode nothing can arrive: everyone waits.
                if outcomes or not self._batch.active or (self._queue and self._batch.free):
                    break
                outcomes = self._batch.step(())
            return outcomes

        return visit

    def _deliver(self, outcomes: Sequence[tuple[Request, Outcome]]) -> None:
        """Hand replies and errors to those who wait for them."""
        for request, outcome in outcomes:
            future = self._futures.pop(request, None)
            if future is None or future.done():  # its caller was cancelled while the step ran
                continue
            if isinstance(outcome, Completion):
                future.set_result(outcome)
            else:
                future.set_exception(outcome)

    def _fail(self, error: ModelError) -> None:
        """Give an error to everyone who waits.

        Each gets an object of its own, since an exception that is raised in many tasks collects all their tracebacks.
        """
        for future in list(self._futures.values()):
            if not future.done():
                future.set_exception(ModelError(error.fault.code, error.fault.message, error.fault.detail))
        self._futures.clear()
        self._queue.clear()
