"""A run that somebody else's loop drives: it is asked for cycles, and told when the weights were saved.

The engine's loop is synchronous, or asynchronous in ways of its own; ours runs in a thread beside it, so that sandboxes
and connections live on between cycles. Everything else is as in ``spadework train``: the run directory, its records,
and the stages' state, which is kept at the cycles at which the engine saves its weights.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

from spadework import build
from spadework.config import RunConfig
from spadework.errors import RunError
from spadework.policies.base import Policy
from spadework.runs.store import CycleRecord, RunStore
from spadework.selfplay.loop import SelfPlay
from spadework.types import Sequence

T = TypeVar("T")


class Quiet:
    """Watches nothing: the engine shows its own progress."""

    def stage(self, cycle: int, name: str, total: int) -> None:
        """See ``loop.Observer``."""

    def advance(self, tokens: int) -> None:
        """See ``loop.Observer``."""

    def note(self, text: str) -> None:
        """Printed, for the engine's log."""
        print(text, flush=True)

    def cycle_done(self, cycle: int, metrics: Mapping[str, float]) -> None:
        """See ``loop.Observer``."""


class DrivenRun:
    """One run, driven from outside.

    Args:
        config: Of the run; its ``update`` and ``model`` sections are the engine's business.
        path: The run directory; made, or gone on with.
        policy: Speaks with the engine's weights.
    """

    def __init__(self, config: RunConfig, path: Path, policy: Policy) -> None:
        self.policy = policy
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="spadework", daemon=True)
        self._thread.start()
        self.store = RunStore.resume(path) if path.exists() else RunStore.create(path, config)
        self._sandbox = build.build_sandbox(config)
        stages = build.build_stages(config, self._sandbox, build.build_corpus(config))
        self._play = SelfPlay(config, stages, Quiet())
        self._pending: CycleRecord | None = None
        self._await(build.check_sandbox(self._sandbox))

    def collect(self, cycle: int) -> tuple[list[Sequence], dict[str, float]]:
        """The training rows and metrics of a cycle. Raises ``RunError`` when the machinery fails."""
        self._commit(None)
        collected = self._await(self._play.collect(self.policy, cycle))
        self._pending = collected.record
        return collected.sequences, dict(collected.record.metrics)

    def saved(self, cycle: int) -> None:
        """The engine has saved the weights that were trained on ``cycle``: from here the run can be gone on with."""
        if self._pending is not None and self._pending.cycle == cycle:
            self._commit(self._play.stages.state_dict())

    def restore(self, cycle: int) -> None:
        """Go on after ``cycle``, whose weights the engine has loaded.

        Raises:
            RunError: The run's last state is of another cycle.
        """
        checkpoint = self.store.last_checkpoint()
        if checkpoint is None or checkpoint.cycle != cycle:
            found = "none" if checkpoint is None else f"one of cycle {checkpoint.cycle}"
            raise RunError(f"{self.store.path}: the engine goes on after cycle {cycle}, but the last state is {found}")
        self._play.stages.load_state_dict(checkpoint.state)

    def close(self) -> None:
        """Write what is pending, and let go of sandbox, policy and thread."""
        self._commit(None)
        self._await(self._sandbox.close())
        self._await(self.policy.close())
        self.store.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _commit(self, state: Mapping[str, Any] | None) -> None:
        if self._pending is not None:
            self.store.commit(self._pending, state)
            self._pending = None

    def _await(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()
