"""Which environments are in play: what enters before a cycle is played, and what leaves after it is scored."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Mapping, Sequence

from spadework.config import RunConfig
from spadework.envs.sandbox.packaged.names import parse_named
from spadework.observer import Observer
from spadework.selfplay.design.memory import Remembered
from spadework.selfplay.faults import failing_environments
from spadework.selfplay.pool.pool import Exit
from spadework.selfplay.score.seeds import Estimate
from spadework.selfplay.stages import Stages
from spadework.selfplay.summary import Origin
from spadework.types import HOPELESS, MASTERED, Environment, Group, derive_seed


class Curriculum:
    """Fills and empties the slots of the pool. It has no state of its own: all of it lies in the stages."""

    def __init__(self, config: RunConfig, stages: Stages, observer: Observer) -> None:
        self._config, self._stages, self._observer = config, stages, observer

    def draw(self, cycle: int) -> list[Environment]:
        """Put the cycle's environments of the fixed pool into play."""
        if self._stages.fixed is None:
            return []
        drawn = [dataclasses.replace(environment, cycle=cycle) for environment in self._stages.fixed.draw(cycle)]
        for slot, environment in enumerate(drawn, self._config.designer.environments):
            self._stages.pool.fill(slot, environment, "drawn")
        return drawn

    def replay(self, cycle: int) -> list[str]:
        """Put environments that have left play back into the last slots, for this cycle and without their hints."""
        pool, memory, count = self._stages.pool, self._stages.memory, self._config.pool.replay
        slots = range(pool.slots - count, pool.slots)
        for slot in slots:
            pool.vacate(slot)
        rng = random.Random(derive_seed(self._config.run.seed, "replay", cycle))
        past = memory.draw_past(count, {environment.id for environment in pool.environments}, rng)
        for slot, entry in zip(slots, past, strict=False):
            pool.fill(slot, entry.environment(self._config.domain), "replayed")
        return [entry.environment_id for entry in past]

    def filler(self, cycle: int, slot: int) -> Environment | None:
        """A bundled environment, not yet in play, for a slot that no design has filled."""
        playing = {environment.id for environment in self._stages.pool.environments}
        free = [environment for environment in self._stages.fillers if environment.id not in playing]
        if not free:
            return None
        filler = free[derive_seed(self._config.run.seed, "filler", cycle, slot) % len(free)]
        return dataclasses.replace(filler, cycle=cycle)  # it may come again, and each time is a row of its own

    def origins(self, drawn: Sequence[Environment]) -> dict[str, Origin]:
        """Where the environments in play come from, by id; fillers and replayed ones are left out."""
        pool = self._stages.pool
        # A drawn environment may name a design too: that of the run which once wrote the pool.
        origins: dict[str, Origin] = {one.id: "designed" for one in pool.environments if one.design_id is not None}
        origins |= {one.id: "fixed" for one in drawn}
        return origins | {one.id: "anchor" for one in pool.anchors}

    def update(
        self, cycle: int, groups: Sequence[Group], estimates: Mapping[str, Estimate], replayed: Sequence[str]
    ) -> tuple[list[Environment], dict[str, float]]:
        """Change memory and pool by what a cycle has shown. Returns the environments that climbed, and metrics.

        The order matters. What was forgotten is measured against memory before memory is written anew. All that was
        played stops being fresh before designs climb, since the hinted arm of the next level is due. Designs climb
        before anything is retired, since one that wins at a level short of its last has not been mastered. What fails
        leaves last, whatever else was found of it.
        """
        stages = self._stages
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

    def _forgotten(self, replayed: Sequence[str], estimates: Mapping[str, Estimate]) -> dict[str, float]:
        """Metrics: how often replayed environments are won now, and how much less often than when they were in play."""
        now = {name: estimates[name].unhinted_win_rate for name in replayed if name in estimates}
        pairs = [(self._stages.memory.win_rate_of(name), rate) for name, rate in now.items() if not math.isnan(rate)]
        if not pairs:
            return {}
        lost = math.fsum(then - rate for then, rate in pairs)
        return {"replay/win_rate": math.fsum(rate for _, rate in pairs) / len(pairs), "replay/lost": lost / len(pairs)}

    def _remember(self, cycle: int, estimates: Mapping[str, Estimate]) -> None:
        """Write every environment that was played into memory, or only those that entered in this cycle."""
        playing = {environment.id: environment for environment in self._stages.pool.environments}
        for environment_id, seen in estimates.items():
            environment, regret = playing[environment_id], seen.regret.mean
            if math.isnan(seen.unhinted_win_rate) or parse_named(environment.source) is not None:
                continue  # nothing was seen, or there is no program to show
            if not self._config.memory.rewrite and environment.cycle != cycle:
                continue
            self._stages.memory.remember(
                Remembered(
                    environment_id=environment_id,
                    source=environment.source,
                    skill=environment.skill,
                    document_id=environment.document_id,
                    cycle=environment.cycle,
                    win_rate=seen.unhinted_win_rate,
                    regret=self._stages.memory.regret_of(environment_id) if math.isnan(regret) else regret,
                )
            )

    def _climb(self, groups: Sequence[Group], cycle: int) -> list[Environment]:
        """Replace environments that are won at their level by themselves at the next level. Their hinted arm is due."""
        climber, pool = self._stages.climber, self._stages.pool
        if climber is None:
            return []
        slots = {slot: one for slot in range(self._config.designer.environments) if (one := pool.at(slot)) is not None}
        climbed = climber.climb(list(slots.values()), groups, cycle)
        for slot, environment in slots.items():
            if environment.id in climbed:
                pool.fill(slot, climbed[environment.id], "climbed")
        return list(climbed.values())

    def _retire(self, estimates: Mapping[str, Estimate]) -> dict[str, float]:
        """With ``pool.retire``, take out of play what is mastered, or hopeless even with the hint."""
        if not self._config.pool.retire:
            return {}
        stages = self._stages
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
            self._observer.note(f"cycle {cycle + 1}: {line}; it leaves the pool")
        self._leave(dict.fromkeys(failing, "failing"))
        return {"pool/failing": float(len(failing))} if failing else {}

    def _leave(self, reasons: Mapping[str, Exit]) -> None:
        self._stages.pool.retire(reasons)
        if self._stages.fixed is not None:
            self._stages.fixed.retire(set(reasons))
