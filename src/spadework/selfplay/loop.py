"""The loop of method section 2: design, play, score, update, remember.

``collect`` is everything SPADE for engines that drive us; ``run`` adds training, checkpoints and records for engines
that we drive.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from spadework import types
from spadework.config import RunConfig
from spadework.errors import RunError
from spadework.observer import Observer
from spadework.policies.base import Metered, Policy, Trainer
from spadework.policies.hyperparameters import hyperparameters
from spadework.runs.allowance import Allowance
from spadework.runs.cadence import Cadence
from spadework.runs.cycle_record import CycleRecord, PlayRow, RegretRow
from spadework.runs.metrics import Sink
from spadework.runs.store import RunStore
from spadework.selfplay.curriculum import Curriculum
from spadework.selfplay.cycle import Cycle, CycleContext
from spadework.selfplay.faults import why_stop
from spadework.selfplay.play.plan import group_episodes
from spadework.selfplay.play.rounds import Unfinished
from spadework.selfplay.score.rows import build_batch, rows_without_advantage
from spadework.selfplay.score.scoring import HINT_GROUP, Scoring
from spadework.selfplay.stages import Stages
from spadework.selfplay.summary import summarise
from spadework.types import Design, Group


@dataclass(frozen=True, slots=True)
class Collected:
    """One cycle's training rows, and the record of how they came about."""

    sequences: list[types.TrainingRow]
    record: CycleRecord


class SelfPlay:
    """One run of the method."""

    def __init__(self, config: RunConfig, stages: Stages, observer: Observer) -> None:
        self.config = config
        self.stages = stages
        self.observer = observer
        self._curriculum = Curriculum(config, stages, observer)
        self._scoring = Scoring(config, stages.ledger, stages.averages)
        self._cadence = Cadence(config.run, time.monotonic())
        self._allowance = Allowance(config.run, {}, time.monotonic())
        self._unfinished: list[Unfinished] = []
        """Episodes that go on while the weights change."""
        self._unsaved: tuple[int, dict[str, Any]] | None = None
        """The last cycle and the stages' state after it, while the weights are still those of a cycle that was
        committed without a checkpoint."""

    async def run(self, policy: Policy, trainer: Trainer, store: RunStore, sinks: Sequence[Sink] = ()) -> None:
        """Run from the store's last checkpoint to the last cycle.

        Raises:
            RunError: the disk is full, too many episodes failed, or the machinery failed all attempts at a design.
            AllowanceUsedUp: ``run.max_hours``, ``run.max_tokens`` or ``run.max_cost`` is reached; all is stored.
        """
        start, policy = await self._restore(policy, trainer, store)
        self._allowance = Allowance(self.config.run, store.metrics(), time.monotonic())
        self._cadence = Cadence(self.config.run, time.monotonic())
        if start == 0 and self.config.eval.at_start and self.stages.evaluate is not None:
            self.observer.stage(0, "evaluate", 1)
            await self.stages.evaluate(policy, -1)
        try:
            for cycle in range(start, self.config.run.cycles):
                policy = await self._cycle(cycle, policy, trainer, store, sinks)
        except asyncio.CancelledError:
            # Only the cycle in flight is lost to a signal, not those since the last checkpoint.
            if self._unsaved is not None:
                last, state = self._unsaved
                await _in_thread(lambda: store.add_checkpoint(last, state, trainer.save))
            raise
        finally:
            for one in self._unfinished:
                one.task.cancel()
            await asyncio.gather(*(one.task for one in self._unfinished), return_exceptions=True)

    async def _cycle(
        self, cycle: int, policy: Policy, trainer: Trainer, store: RunStore, sinks: Sequence[Sink]
    ) -> Policy:
        began = time.perf_counter()
        collected = await self.collect(policy, cycle)
        played = time.perf_counter()
        self.observer.stage(cycle, "update", 1)
        settings = hyperparameters(self.config.update, cycle, self.config.run.cycles)
        self._unsaved = None  # from here on the weights are no longer those of the last cycle
        trained = await trainer.train(collected.sequences, settings) if collected.sequences else {}
        policy = await trainer.sync()
        ended = time.perf_counter()
        metrics = {
            **collected.record.metrics,
            **{f"train/{name}": value for name, value in trained.items()},
            "time/collect_s": played - began,
            "time/update_s": ended - played,
            **await self._evaluate(policy, cycle),
        }
        limit = self._allowance.reached(metrics, time.monotonic())
        await self._commit(dataclasses.replace(collected.record, metrics=metrics), trainer, store, limit is not None)
        for sink in sinks:
            sink.log(cycle, metrics)
        self.observer.cycle_done(cycle, metrics)
        if limit is not None and cycle + 1 < self.config.run.cycles:
            raise limit
        return policy

    async def collect(self, policy: Policy, cycle: int) -> Collected:
        """Design if due, play, score: the training rows of one cycle, and everything worth keeping of it.

        Raises ``RunError`` when too much failed for the rest to mean anything.
        """
        stages = self.stages
        anchors = stages.pool.enter_anchors(cycle)
        drawn = self._curriculum.draw(cycle)
        # Replay comes after the draw: what a draw brought into play is not replayed beside itself.
        replayed = self._curriculum.replay(cycle)
        played = await self._play(policy, cycle)
        designs, episodes = played.designs, played.episodes
        reason = why_stop(designs, episodes, self.config.run.max_fault_share)
        if reason is not None:
            raise RunError(f"cycle {cycle + 1}: {reason}")
        groups = group_episodes(episodes)
        scored = self._scoring.cycle(cycle, designs, groups)
        rows = build_batch([*scored.agent, *scored.designer], self._scoring.average)
        if self.config.update.kl_rows == "all":
            rows += rows_without_advantage(groups, scored.designer, rows, self.config.agent)
        hints = sum(row.group_id.startswith(HINT_GROUP) for row in scored.designer)
        metrics = summarise(designs, episodes, groups, scored, self._curriculum.origins(drawn)) | {
            "rows/agent": float(len(scored.agent)),
            "rows/designer": float(len(scored.designer) - hints),
            **({"rows/hint": float(hints)} if self.config.hint.train else {}),
            **stages.ledger.metrics(),
            **played.metrics(),
            **self._taken_metrics(policy),
            **self._watch_diversity(cycle, designs),
        }
        climbed, changed = self._curriculum.update(cycle, groups, scored.estimates, replayed)
        record = CycleRecord(
            cycle=cycle,
            environments=[*anchors, *drawn, *played.entered, *climbed],
            designs=designs,
            scores=scored.scores,
            plays=[_play_row(group) for group in groups],
            regrets=[
                RegretRow(name, **dataclasses.asdict(seen.regret))
                for name, seen in scored.estimates.items()
                if seen.hinted
            ],
            events=stages.pool.take_events(),
            episodes=episodes,
            sequences=rows,
            metrics=metrics | changed,
        )
        return Collected(rows, record)

    async def _play(self, policy: Policy, cycle: int) -> Cycle:
        """Design, if it is due, and play what is in the pool."""
        stages = self.stages
        context = CycleContext(
            config=self.config,
            designer=stages.designer if cycle % self.config.designer.every == 0 else None,
            policy=policy,
            author=stages.author or policy,
            sandbox=stages.sandbox,
            settings=stages.play,
            allocation=self._scoring.allocation,
            known=stages.ledger.known(cycle),
            pool=stages.pool,
            seen=stages.seen,
            filler=lambda slot: self._curriculum.filler(cycle, slot),
            observer=self.observer,
        )
        played = Cycle(context, cycle, self._unfinished)
        await played.run()
        self._unfinished = played.unfinished
        return played

    async def _restore(self, policy: Policy, trainer: Trainer, store: RunStore) -> tuple[int, Policy]:
        checkpoint = store.last_checkpoint()
        if checkpoint is None:
            return 0, policy
        trainer.load(checkpoint.folder)
        self.stages.load_state_dict(checkpoint.state)
        return checkpoint.cycle + 1, policy

    def _taken_metrics(self, policy: Policy) -> dict[str, float]:
        """What the models counted since the last cycle."""
        metrics: dict[str, float] = {}
        for asked in (policy, self.stages.author):
            if isinstance(asked, Metered):
                metrics |= asked.take_metrics()
        return metrics

    def _watch_diversity(self, cycle: int, designs: Sequence[Design]) -> dict[str, float]:
        """Measure the diversity of recent designs, and say when it is lost."""
        metrics, lines = self.stages.alarm.look(designs)
        for line in lines:
            self.observer.note(f"cycle {cycle + 1}: {line}")
        return metrics

    async def _evaluate(self, policy: Policy, cycle: int) -> dict[str, float]:
        if self.stages.evaluate is None or not self._cadence.evaluates(cycle):
            return {}
        self.observer.stage(cycle, "evaluate", 1)
        return await self.stages.evaluate(policy, cycle)

    async def _commit(self, record: CycleRecord, trainer: Trainer, store: RunStore, stops: bool) -> None:
        """Store a cycle, with a checkpoint where one is due or the run ``stops`` after it."""
        run = self.config.run
        due = stops or self._cadence.due(record.cycle, time.monotonic())
        state = self.stages.state_dict()

        def write() -> None:
            store.commit(record, state if due else None, trainer.save)
            store.prune(run.keep_checkpoints, store.best("eval/average"))

        began = time.monotonic()
        await _in_thread(write)
        self._unsaved = None if due else (record.cycle, state)
        if due:
            self._cadence.written(began, time.monotonic())


def _play_row(group: Group) -> PlayRow:
    return PlayRow(
        environment_id=group.environment_id,
        arm=group.arm,
        episodes=len(group.episodes),
        faults=len(group.episodes) - len(group.valid),
        mean_return=group.mean_return,
        win_rate=group.win_rate,
    )


async def _in_thread(work: Callable[[], None]) -> None:
    """Run work that blocks, for example on the disk, in a thread. A caller that is cancelled still waits for its end.

    Otherwise the database would be closed, or its checkpoint deleted, while the thread still writes to it.
    """
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise
