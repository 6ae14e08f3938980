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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from spadework import types
from spadework.config import RunConfig
from spadework.envs.sandbox.base import Sandbox
from spadework.envs.sandbox.packaged.names import parse_named
from spadework.errors import RunError
from spadework.policies.base import Hyperparameters, Metered, Policy, Trainer
from spadework.rollout import PlaySettings
from spadework.runs.metrics import Sink
from spadework.runs.store import CycleRecord, PlayRow, RegretRow, RunStore
from spadework.selfplay.collection import Collection
from spadework.selfplay.design.collapse import CollapseAlarm
from spadework.selfplay.design.designer import Designer
from spadework.selfplay.design.memory import Memory, Remembered
from spadework.selfplay.design.novelty import SeenPrograms
from spadework.selfplay.play.plan import group_episodes
from spadework.selfplay.playing import Carried, Means
from spadework.selfplay.pool.climber import Climber
from spadework.selfplay.pool.fixed import FixedPool
from spadework.selfplay.pool.levelled import LevelledPool
from spadework.selfplay.pool.pool import Pool
from spadework.selfplay.score.ledger import Ledger
from spadework.selfplay.score.rows import build_batch
from spadework.selfplay.score.scoring import Scoring
from spadework.selfplay.score.seeds import Estimate
from spadework.selfplay.score.skills import SkillAverages
from spadework.selfplay.summary import summarise
from spadework.types import Design, Environment, Episode, Group, derive_seed

MASTERED, HOPELESS = 0.95, 0.05
"""Win rates at which an environment is retired by choice (``pool.retire``)."""


class Observer(Protocol):
    """Who watches a run: the terminal view, or nobody."""

    def stage(self, cycle: int, name: str, total: int) -> None:
        """A stage of ``total`` pieces begins."""
        ...

    def advance(self, tokens: int) -> None:
        """One piece is done; ``tokens`` were sampled for it."""
        ...

    def note(self, text: str) -> None:
        """A line that stays."""
        ...

    def cycle_done(self, cycle: int, metrics: Mapping[str, float]) -> None:
        """A cycle is committed."""
        ...


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
        self._carried: list[Carried] = []

    async def run(self, policy: Policy, trainer: Trainer, store: RunStore, sinks: Sequence[Sink] = ()) -> None:
        """Run from the store's last checkpoint to the last cycle.

        Raises:
            RunError: the disk is full, or too many episodes, or all designs, failed by sandbox or endpoint.
        """
        start, policy = await self._restore(policy, trainer, store)
        try:
            for cycle in range(start, self.config.run.cycles):
                policy = await self._cycle(cycle, policy, trainer, store, sinks)
        finally:
            for one in self._carried:
                one.task.cancel()
            await asyncio.gather(*(one.task for one in self._carried), return_exceptions=True)

    async def _cycle(
        self, cycle: int, policy: Policy, trainer: Trainer, store: RunStore, sinks: Sequence[Sink]
    ) -> Policy:
        began = time.perf_counter()
        collected = await self.collect(policy, cycle)
        played = time.perf_counter()
        self.observer.stage(cycle, "update", 1)
        trained = await trainer.train(collected.sequences, self._hyperparameters()) if collected.sequences else {}
        policy = await trainer.sync()
        ended = time.perf_counter()
        metrics = {
            **collected.record.metrics,
            **{f"train/{name}": value for name, value in trained.items()},
            "time/collect_s": played - began,
            "time/update_s": ended - played,
            **await self._evaluate(policy, cycle),
        }
        self._commit(collected.record, metrics, trainer, store)
        for sink in sinks:
            sink.log(cycle, metrics)
        self.observer.cycle_done(cycle, metrics)
        return policy

    async def collect(self, policy: Policy, cycle: int) -> Collected:
        """Design if due, play, score: the training rows of one cycle, and everything worth keeping of it."""
        pool = self.stages.pool
        drawn = [*(pool.anchors if cycle == 0 else ()), *self._draw(cycle)]
        replayed = self._replay(cycle)
        designer = self.stages.designer if cycle % self.config.designer.every == 0 else None
        collection = Collection(
            self._means(policy, cycle), cycle, self.stages.seen, lambda slot: self._filler(cycle, slot), self._carried
        )
        await collection.run(designer, self.stages.author or policy)
        self._carried = collection.carried
        designs, episodes = collection.designs, collection.episodes
        groups = group_episodes(episodes)
        self._check_faults(designs, episodes, cycle)
        scored = self._scoring.cycle(cycle, designs, groups)
        sequences = build_batch([*scored.agent, *scored.designer], self._scoring.average)
        forgotten = self._forgotten(replayed, scored.estimates)
        self._remember(scored.estimates)
        anchors = {environment.id for environment in self.stages.pool.anchors}
        metrics = summarise(designs, episodes, groups, scored, anchors) | {
            "rows/agent": float(len(scored.agent)),
            "rows/designer": float(len(scored.designer)),
            **self.stages.pool.metrics(),
            **self.stages.memory.metrics(),
            **self.stages.ledger.metrics(),
            **collection.metrics(),
            **forgotten,
        }
        self.stages.pool.mark_played()
        for asked in (policy, self.stages.author):
            metrics |= asked.take_metrics() if isinstance(asked, Metered) else {}
        climbed = self._climb(groups, cycle)
        metrics |= self._learn(groups) | self._retire(scored.estimates) | self._watch(cycle, designs)
        metrics |= {"pool/climbed": float(len(climbed))} if self.stages.climber is not None else {}
        record = CycleRecord(
            cycle=cycle,
            environments=[*drawn, *collection.entered, *climbed],
            designs=designs,
            scores=scored.scores,
            plays=[_play_row(group) for group in groups],
            regrets=[
                RegretRow(name, **dataclasses.asdict(seen.regret))
                for name, seen in scored.estimates.items()
                if seen.hinted
            ],
            episodes=episodes,
            sequences=sequences,
            metrics=metrics,
        )
        return Collected(sequences, record)

    async def _restore(self, policy: Policy, trainer: Trainer, store: RunStore) -> tuple[int, Policy]:
        checkpoint = store.last_checkpoint()
        if checkpoint is None:
            return 0, policy
        trainer.load(checkpoint.folder)
        self.stages.load_state_dict(checkpoint.state)
        return checkpoint.cycle + 1, policy

    def _means(self, policy: Policy, cycle: int) -> Means:
        return Means(
            config=self.config,
            policy=policy,
            sandbox=self.stages.sandbox,
            settings=self.stages.play,
            allocation=self._scoring.allocation,
            known=self.stages.ledger.known(cycle),
            pool=self.stages.pool,
            watcher=self.observer,
        )

    def _draw(self, cycle: int) -> list[Environment]:
        """Put the cycle's environments of the fixed pool into play."""
        if self.stages.fixed is None:
            return []
        drawn = [dataclasses.replace(environment, cycle=cycle) for environment in self.stages.fixed.draw(cycle)]
        for slot, environment in enumerate(drawn, self.config.designer.environments):
            self.stages.pool.fill(slot, environment)
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
            pool.fill(slot, entry.environment(self.config.domain))
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

    def _check_faults(self, designs: Sequence[Design], episodes: Sequence[Episode], cycle: int) -> None:
        """Stop loudly when the machinery, not the programs, fails (faults.md, 4)."""
        met = [design.fault for design in designs if design.fault is not None]
        if not episodes and met and len(met) == len(designs):
            raise RunError(
                f"cycle {cycle}: nothing to play, for all {len(met)} attempts at a design failed by the machinery; "
                f"the last one by the {met[-1].kind}: {met[-1].code} {met[-1].message}"
            )
        failed = [e for e in episodes if e.fault is not None and e.fault.kind != "program"]
        if episodes and len(failed) / len(episodes) > self.config.run.max_fault_share:
            fault = failed[-1].fault
            assert fault is not None
            raise RunError(
                f"cycle {cycle}: {len(failed)} of {len(episodes)} episodes failed by the {fault.kind}, more than "
                f"run.max_fault_share = {self.config.run.max_fault_share}; the last one: {fault.code} {fault.message}"
            )

    def _remember(self, estimates: Mapping[str, Estimate]) -> None:
        """Write every environment that was played into memory."""
        playing = {environment.id: environment for environment in self.stages.pool.environments}
        for environment_id, seen in estimates.items():
            environment, regret = playing[environment_id], seen.regret.mean
            if math.isnan(seen.unhinted_win_rate) or parse_named(environment.source) is not None:
                continue  # nothing was seen, or there is no program to show
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
                pool.fill(slot, climbed[environment.id])
        return list(climbed.values())

    def _learn(self, groups: Sequence[Group]) -> dict[str, float]:
        """Tell the fixed pool what was won, where it moves its environments' levels."""
        fixed = self.stages.fixed
        if fixed is None:
            return {}
        fixed.learn(groups)
        return fixed.metrics()

    def _retire(self, estimates: Mapping[str, Estimate]) -> dict[str, float]:
        """Take what is mastered, or known to be hopeless even with the hint, out of its slot."""
        if not self.config.pool.retire:
            return {}
        regret_of = self.stages.memory.regret_of
        mastered = {name for name, seen in estimates.items() if seen.unhinted_win_rate >= MASTERED}
        mastered -= self.stages.climber.rising if self.stages.climber is not None else set()
        hopeless = {
            name
            for name, seen in estimates.items()
            if seen.unhinted_win_rate <= HOPELESS and regret_of(name) <= HOPELESS
        }
        self.stages.pool.retire(mastered | hopeless)
        if self.stages.fixed is not None:
            self.stages.fixed.retire(mastered | hopeless)
        return {"pool/mastered": float(len(mastered)), "pool/hopeless": float(len(hopeless))}

    def _watch(self, cycle: int, designs: Sequence[Design]) -> dict[str, float]:
        """Measure the diversity of recent designs, and say when it is lost."""
        metrics, lines = self.stages.alarm.look(designs)
        for line in lines:
            self.observer.note(f"cycle {cycle + 1}: {line}")
        return metrics

    async def _evaluate(self, policy: Policy, cycle: int) -> dict[str, float]:
        if self.stages.evaluate is None or not self._due(cycle, self.config.run.evaluate_every):
            return {}
        self.observer.stage(cycle, "evaluate", 1)
        return await self.stages.evaluate(policy, cycle)

    def _due(self, cycle: int, every: int) -> bool:
        return bool(every) and ((cycle + 1) % every == 0 or cycle == self.config.run.cycles - 1)

    def _commit(self, record: CycleRecord, metrics: Mapping[str, float], trainer: Trainer, store: RunStore) -> None:
        run = self.config.run
        due = self._due(record.cycle, run.checkpoint_every) or self._due(record.cycle, run.evaluate_every)
        final = dataclasses.replace(record, metrics=metrics)
        store.commit(final, self.stages.state_dict() if due else None, trainer.save)
        store.prune(run.keep_checkpoints, store.best("eval/average"))

    def _hyperparameters(self) -> Hyperparameters:
        update = self.config.update
        return Hyperparameters(
            lr=update.lr,
            clip_low=update.clip_low,
            clip_high=update.clip_high,
            importance_cap=update.importance_cap,
            kl_coef=update.kl_coef,
            grad_clip=update.grad_clip,
            betas=(update.beta1, update.beta2),
            weight_decay=update.weight_decay,
            minibatches=update.minibatches,
        )


def _play_row(group: Group) -> PlayRow:
    return PlayRow(
        environment_id=group.environment_id,
        arm=group.arm,
        episodes=len(group.episodes),
        faults=len(group.episodes) - len(group.valid),
        mean_return=group.mean_return,
        win_rate=group.win_rate,
    )
