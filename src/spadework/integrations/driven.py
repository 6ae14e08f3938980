"""A run that an external training loop drives: the loop requests cycles, and reports when it has saved weights.

The engine's loop is synchronous, or has an event loop of its own. So ours runs in a thread beside it, in which
sandboxes, connections and the database live on between cycles. Everything else is as in ``spadework train``: the run
directory, its records, and the state of the stages, which is stored at the cycles whose weights the engine saves.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spadework import build
from spadework.background import BackgroundLoop
from spadework.config import RunConfig
from spadework.errors import ConfigError, RunError
from spadework.observer import NullObserver
from spadework.policies.base import Policy
from spadework.policies.server.preflight import preflight
from spadework.runs.cycle_record import CycleRecord
from spadework.runs.store import Checkpoint, RunStore
from spadework.selfplay.loop import Collected, SelfPlay
from spadework.types import TrainingRow


class Quiet(NullObserver):
    """An observer that prints notes and shows no progress, because the engine shows its own."""

    def note(self, text: str) -> None:
        """Print the note, for the engine's log."""
        print(text, flush=True)


def _check_update(config: RunConfig) -> None:
    """Raises ``ConfigError`` for a setting that the engine would silently leave out."""
    if config.update.by_role:
        raise ConfigError("update.by_role: this engine takes one optimiser step over both roles; set it to false")
    if config.update.ratio != "token":
        raise ConfigError('update.ratio: this engine clips the ratio of each token; set it to "token"')


class DrivenRun:
    """One run that an external loop drives.

    Args:
        config: The run's config. The engine, and not this class, acts on its ``update`` and ``model`` sections.
        path: The run directory, which is created, or continued where it exists.
        policy: Samples from the engine's weights.
        change_config: Whether a run that was started with other settings continues under ``config``.
        how: How a user of this engine turns ``change_config`` on, for the error message.

    Raises:
        RunError: The run was started with other settings, and ``change_config`` is off.
        ConfigError: ``update`` asks for what no such engine does.
    """

    def __init__(self, config: RunConfig, path: Path, policy: Policy, *, change_config: bool, how: str) -> None:
        _check_update(config)
        self.policy = policy
        self._loop = BackgroundLoop()
        self._path = path
        self._store: RunStore = self._loop.run(_open(path, config, change_config, how))
        self._sandbox = build.build_sandbox(config)
        self._author = self._loop.run(build.build_author(config, self._sandbox, Quiet().note))
        self._loop.run(preflight(self._author))
        stages = build.build_stages(config, self._sandbox, build.build_corpus(config), self._author)
        self._play = SelfPlay(config, stages, Quiet())
        self._pending: CycleRecord | None = None
        self._loop.run(build.check_sandbox(self._sandbox))

    def collect(self, cycle: int) -> tuple[list[TrainingRow], dict[str, float]]:
        """Collect a cycle; returns its training rows and metrics. Raises ``RunError`` when too much of it failed."""

        async def one() -> Collected:
            self._commit(None)
            return await self._play.collect(self.policy, cycle)

        collected = self._loop.run(one())
        self._pending = collected.record
        return collected.sequences, dict(collected.record.metrics)

    def saved(self, cycle: int) -> None:
        """Store the state that belongs to the weights that the engine saved after training on ``cycle``.

        Raises:
            RunError: A later cycle has been played since.
        """

        async def commit() -> None:
            self._commit(self._play.stages.state_dict())

        if self._pending is None or self._pending.cycle == cycle:
            self._loop.run(commit())
            return
        raise RunError(
            f"{self._path}: the engine saves the weights of cycle {cycle} after cycle {self._pending.cycle} was played "
            "already, so no state belongs to them. Use a loop that trains before it plays on: slime's train.py, not "
            "train_async.py"
        )

    def restore(self, cycle: int) -> None:
        """Continue after ``cycle``, whose weights the engine has loaded.

        Raises:
            RunError: The last stored state belongs to another cycle.
        """

        async def last() -> Checkpoint | None:
            return self._store.last_checkpoint()

        checkpoint = self._loop.run(last())
        if checkpoint is None or checkpoint.cycle != cycle:
            found = "none" if checkpoint is None else f"one of cycle {checkpoint.cycle}"
            raise RunError(f"{self._path}: the engine continues after cycle {cycle}, but the last state is {found}")
        self._play.stages.load_state_dict(checkpoint.state)

    def close(self) -> None:
        """Write pending records, close sandbox and policy, and end the thread."""

        async def end() -> None:
            self._commit(None)
            self._store.close()
            await self._sandbox.close()
            await self.policy.close()
            if self._author is not None:
                await self._author.close()

        self._loop.run(end())
        self._loop.close()

    def _commit(self, state: Mapping[str, Any] | None) -> None:
        if self._pending is not None:
            self._store.commit(self._pending, state)
            self._pending = None


async def _open(path: Path, config: RunConfig, change: bool, how: str) -> RunStore:
    if not path.exists():
        return RunStore.create(path, config)
    store = RunStore.resume(path)
    for line in store.adopt_config(config, change=change, how=how):
        print(f"setting changed: {line}", flush=True)
    return store
