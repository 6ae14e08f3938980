"""The loop of method section 2: design, play, score, update, remember. The only file that imports the stages.

``collect`` is everything SPADE for engines that drive us; ``run`` adds training, checkpoints and records for engines
that we drive.
"""

from __future__ import annotations

import asyncio
import dataclasses
import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from spadework import types
from spadework.config import RunConfig
from spadework.envs.sandbox.base import Sandbox
from spadework.envs.sandbox.packaged.names import parse_named
from spadework.errors import RunError
from spadework.observer import Observer
from spadework.policies.base import Metered, Policy, Trainer
from spadework.policies.hyperparameters import hyperparameters
from spadework.rollout import PlaySettings
from spadework.runs.allowance import Allowance
from spadework.runs.cadence import Cadence
from spadework.runs.cycle_record import CycleRecord, PlayRow, RegretRow
from spadework.runs.metrics import Sink
from spadework.runs.store import RunStore
from spadework.selfplay.cycle import Cycle, CycleContext
from spadework.selfplay.design.collapse import CollapseAlarm
from spadework.selfplay.design.designer import Designer
from spadework.selfplay.design.memory import Memory, Remembered
from spadework.selfplay.design.novelty import SeenPrograms
from spadework.selfplay.faults import failing_environments, why_stop
from spadework.selfplay.play.plan import group_episodes
from spadework.selfplay.play.rounds import Unfinished
from spadework.selfplay.pool.climber import Climber
from spadework.selfplay.pool.fixed import FixedPool
from spadework.selfplay.pool.levelled import LevelledPool
from spadework.selfplay.pool.pool import Exit, Pool
from spadework.selfplay.score.ledger import Ledger
from spadework.selfplay.score.rows import build_batch, rows_without_advantage
from spadework.selfplay.score.scoring import HINT_GROUP, Scoring
from spadework.selfplay.score.seeds import Estimate
from spadework.selfplay.score.skills import SkillAverages
from spadework.selfplay.summary import Origin, summarise
from spadework.types import HOPELESS, MASTERED, Design, Environment, Group, derive_seed


class Evaluator(Protocol):
    """Scores the weights after a cycle."""

    async def __call__(self, policy: Policy, cycle: int) -> dict[str, float]:
        """Its figures, as metrics ``eval/...``; ``eval/average`` decides which checkpoint is best."""
        ...


@dataclass(slots=True)
class Stages:
    """The stages that a loop works with, as ``build`` made them."""

    designer: Designer | None
    sandbox: Sandbox
    play: PlaySettings
    pool: Pool
    memory: Memory
    ledger: Ledger
    averages: SkillAverages
    seen: SeenPrograms
    alarm: CollapseAlarm
    fillers: Sequence[Environment] = ()
    """Bundled environments for slots that no design has filled yet."""
    fixed: FixedPool | LevelledPool | None = None
    """Draws environments at every cycle, into the slots behind the designer's."""
    climber: Climber | None = None
    """Moves designed environments that are won up a level."""
    author: Policy | None = None
    """Designs and writes hints where it is not the model in training."""
    evaluate: Evaluator | None = None
    """What ``run.evaluate_every`` asks for."""

    def state_dict(self) -> dict[str, Any]:
        """All that must outlive a restart."""
        names = ("pool", "memory", "ledger", "averages", "seen", "alarm", "fixed", "climber")
        return {name: stage.state_dict() for name in names if (stage := getattr(self, name)) is not None}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from ``state_dict``; a stage that a changed config has turned off is left out."""
        for name, part in state.items():
            if (stage := getattr(self, name)) is not None:
                stage.load_state_dict(part)


@dataclass(frozen=True, slots=True)
class Collected:
    """One cycle's training rows, and the record of how they came about."""

    sequences: list[types.TrainingRow]
    record: CycleRecord


class SelfPlay:
    """One run of the method."""

    def __init__(self, config: RunConfig, stages: Stages, observer: Observer) -> None:
        self.config, self.stages, self.observer = config, stages, observer
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
        drawn = self._draw(cycle)
        replayed = self._replay(cycle)  # after the draw: what a draw brought into play is not replayed beside itself
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
        metrics = summarise(designs, episodes, groups, scored, self._origins(drawn)) | {
            "rows/agent": float(len(scored.agent)),
            "rows/designer": float(len(scored.designer) - hints),
            **({"rows/hint": float(hints)} if self.config.hint.train else {}),
            **stages.ledger.metrics(),
            **played.metrics(),
            **self._taken_metrics(policy),
            **self._watch_diversity(cycle, designs),
        }
        climbed, changed = self._update_curriculum(cycle, groups, scored.estimates, replayed)
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
            filler=lambda slot: self._filler(cycle, slot),
            observer=self.observer,
        )
        played = Cycle(context, cycle, self._unfinished)
        await played.run()
        self._unfinished = played.unfinished
        return played

    def _update_curriculum(
        self, cycle: int, groups: Sequence[Group], estimates: Mapping[str, Estimate], replayed: Sequence[str]
    ) -> tuple[list[Environment], dict[str, float]]:
        """Change memory and pool by what was seen in a cycle: the environments that climbed, and metrics.

        The order matters. What was forgotten is measured against memory before memory is written anew. All that was
        played stops being fresh before designs climb, since the hinted arm of the next level is due. Designs climb
        before anything is retired, since one that wins at a level short of its last has not been mastered. What fails
        leaves last, whatever else was found of it.
        """
        stages = self.stages
        metrics = self._forgotten(replayed, estimates)
        self._remember(cycle, estimates)
        stages.pool.mark_played()
        climbed = self._climb(groups, cycle)
        if stages.climber is not None:
            metrics["pool/climbed"] = float(len(climbed))
        if stages.fixed is not None:
            stages.fixed.learn(groups)
            metrics |= stages.fixed.metrics()
        metrics |= stages.memory.metrics() | stages.pool.metrics()
        metrics |= self._retire(estimates) | self._retire_failing(cycle, groups)
        return climbed, metrics

    async def _restore(self, policy: Policy, trainer: Trainer, store: RunStore) -> tuple[int, Policy]:
        checkpoint = store.last_checkpoint()
        if checkpoint is None:
            return 0, policy
        trainer.load(checkpoint.folder)
        self.stages.load_state_dict(checkpoint.state)
        return checkpoint.cycle + 1, policy

    def _origins(self, drawn: Sequence[Environment]) -> dict[str, Origin]:
        """Where the environments in play come from, by id; fillers and replayed ones are left out."""
        pool = self.stages.pool
        # A drawn environment may name a design too: that of the run which once wrote the pool.
        origins: dict[str, Origin] = {one.id: "designed" for one in pool.environments if one.design_id is not None}
        origins |= {one.id: "fixed" for one in drawn}
        return origins | {one.id: "anchor" for one in pool.anchors}

    def _draw(self, cycle: int) -> list[Environment]:
        """Put the cycle's environments of the fixed pool into play."""
        if self.stages.fixed is None:
            return []
        drawn = [dataclasses.replace(environment, cycle=cycle) for environment in self.stages.fixed.draw(cycle)]
        for slot, environment in enumerate(drawn, self.config.designer.environments):
            self.stages.pool.fill(slot, environment, "drawn")
        return drawn

    def _replay(self, cycle: int) -> list[str]:
        """Put environments that have left play back into the last slots, for this cycle and without their hints."""
        pool, memory, count = self.stages.pool, self.stages.memory, self.config.pool.replay
        slots = range(pool.slots - count, pool.slots)
        for slot in slots:
            pool.vacate(slot)
        rng = random.Random(derive_seed(self.config.run.seed, "replay", cycle))
        past = memory.draw_past(count, {environment.id for environment in pool.environments}, rng)
        for slot, entry in zip(slots, past, strict=False):
            pool.fill(slot, entry.environment(self.config.domain), "replayed")
        return [entry.environment_id for entry in past]

    def _forgotten(self, replayed: Sequence[str], estimates: Mapping[str, Estimate]) -> dict[str, float]:
        """How replayed environments are won now, and by how much less than when they were last played."""
        now = {name: estimates[name].unhinted_win_rate for name in replayed if name in estimates}
        pairs = [(self.stages.memory.win_rate_of(name), rate) for name, rate in now.items() if not math.isnan(rate)]
        if not pairs:
            return {}
        lost = math.fsum(then - rate for then, rate in pairs)
        return {"replay/win_rate": math.fsum(rate for _, rate in pairs) / len(pairs), "replay/lost": lost / len(pairs)}

    def _filler(self, cycle: int, slot: int) -> Environment | None:
        playing = {environment.id for environment in self.stages.pool.environments}
        free = [environment for environment in self.stages.fillers if environment.id not in playing]
        if not free:
            return None
        filler = free[derive_seed(self.config.run.seed, "filler", cycle, slot) % len(free)]
        return dataclasses.replace(filler, cycle=cycle)  # it may come again, and each time is a row of its own

    def _remember(self, cycle: int, estimates: Mapping[str, Estimate]) -> None:
        """Write every environment that was played into memory, or only those that entered in this cycle."""
        playing = {environment.id: environment for environment in self.stages.pool.environments}
        for environment_id, seen in estimates.items():
            environment, regret = playing[environment_id], seen.regret.mean
            if math.isnan(seen.unhinted_win_rate) or parse_named(environment.source) is not None:
                continue  # nothing was seen, or there is no program to show
            if not self.config.memory.rewrite and environment.cycle != cycle:
                continue
            self.stages.memory.remember(
                Remembered(
                    environment_id=environment_id,
                    source=environment.source,
                    skill=environment.skill,
                    document_id=environment.document_id,
                    cycle=environment.cycle,
                    win_rate=seen.unhinted_win_rate,
                    regret=self.stages.memory.regret_of(environment_id) if math.isnan(regret) else regret,
                )
            )

    def _climb(self, groups: Sequence[Group], cycle: int) -> list[Environment]:
        """Put what is won at its level into its slot at the next one; its hinted arm is due again."""
        climber, pool = self.stages.climber, self.stages.pool
        if climber is None:
            return []
        slots = {slot: one for slot in range(self.config.designer.environments) if (one := pool.at(slot)) is not None}
        climbed = climber.climb(list(slots.values()), groups, cycle)
        for slot, environment in slots.items():
            if environment.id in climbed:
                pool.fill(slot, climbed[environment.id], "climbed")
        return list(climbed.values())

    def _retire(self, estimates: Mapping[str, Estimate]) -> dict[str, float]:
        """By choice, take what is mastered, or known to be hopeless even with the hint, out of play."""
        if not self.config.pool.retire:
            return {}
        stages = self.stages
        rising = stages.climber.rising if stages.climber is not None else set()
        reasons: dict[str, Exit] = {}
        for name, seen in estimates.items():
            if seen.unhinted_win_rate >= MASTERED and name not in rising:
                reasons[name] = "mastered"
            elif seen.unhinted_win_rate <= HOPELESS and stages.memory.regret_of(name) <= HOPELESS:
                reasons[name] = "hopeless"
        self._leave(reasons)
        why = list(reasons.values())
        return {"pool/mastered": float(why.count("mastered")), "pool/hopeless": float(why.count("hopeless"))}

    def _retire_failing(self, cycle: int, groups: Sequence[Group]) -> dict[str, float]:
        """Take environments out of play whose programs spoil most of their plays, and say so."""
        failing = failing_environments(groups)
        for line in failing.values():
            self.observer.note(f"cycle {cycle + 1}: {line}; it leaves the pool")
        self._leave(dict.fromkeys(failing, "failing"))
        return {"pool/failing": float(len(failing))} if failing else {}

    def _leave(self, reasons: Mapping[str, Exit]) -> None:
        self.stages.pool.retire(reasons)
        if self.stages.fixed is not None:
            self.stages.fixed.retire(set(reasons))

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
    """Run work that blocks, e.g. on the disk, beside the event loop. Who is cancelled still waits for its end."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise
