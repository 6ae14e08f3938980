"""The playing half of a collection: rounds of episodes at each environment, control arms, the deadline.

An environment goes through its rounds by itself. Its hinted arm joins the first round when the hint is there; the next
round begins, if the allocation wants one, when both arms have ended this one.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol

from spadework.config import RunConfig
from spadework.envs.sandbox.base import Sandbox
from spadework.policies.base import Policy
from spadework.rollout import Play, PlaySettings, given_up, play_episode
from spadework.selfplay.keys import play_key
from spadework.selfplay.pipeline import Pipeline, Unit
from spadework.selfplay.play.allocation import Allocation
from spadework.selfplay.play.controls import control_plays
from spadework.selfplay.play.plan import group_episodes, plan_plays
from spadework.selfplay.pool.pool import Pool
from spadework.selfplay.precedence import Precedence
from spadework.selfplay.records import Evidence
from spadework.selfplay.score.scoring import by_environment
from spadework.types import CONTROL_ARMS, Arm, Environment, Episode, Fault, Key

LATE = Fault("endpoint", "LATE", "it had not ended when the cycle's play.deadline_seconds ran out")


class Watcher(Protocol):
    """Who is told of progress; see ``loop.Observer``."""

    def stage(self, cycle: int, name: str, total: int) -> None:
        """A stage of ``total`` pieces begins."""
        ...

    def advance(self, tokens: int) -> None:
        """One piece is done."""
        ...


@dataclass(frozen=True, slots=True)
class Means:
    """What is played with."""

    config: RunConfig
    policy: Policy
    sandbox: Sandbox
    settings: PlaySettings
    allocation: Allocation
    known: Mapping[str, Evidence]
    """Of environments that are in a later cycle of their window."""
    pool: Pool
    watcher: Watcher


@dataclass(frozen=True, slots=True, eq=False)
class Carried:
    """An episode that goes on beyond its cycle."""

    play: Play
    task: asyncio.Task[Episode]
    left: int
    """Cycles that it may still go on for."""


@dataclass(slots=True, eq=False)
class Table:
    """An environment at which episodes are played."""

    place: int
    environment: Environment
    plays: list[Play]
    """Of both arms, as far as they are known."""
    awaits_hint: bool
    rounds: list[range]
    """Indices of the episodes of each round."""
    round: int = 0
    open: int = 0
    """Episodes of both arms in this round that have not ended."""
    episodes: list[tuple[Key, Episode]] = field(default_factory=list)
    units: dict[Key, tuple[Unit, Play]] = field(default_factory=dict)
    """Those that have not ended."""


class Playing:
    """Plays one cycle's episodes as environments are seated.

    Args:
        means: what is played with.
        cycle: of the run.
        pipeline: runs the episodes.
        precedence: of checks, before starts.
        carried: episodes that earlier cycles left going.
    """

    def __init__(
        self, means: Means, cycle: int, pipeline: Pipeline, precedence: Precedence, carried: Sequence[Carried] = ()
    ) -> None:
        self._means, self.cycle, self._pipeline, self._precedence = means, cycle, pipeline, precedence
        self.carried: list[Carried] = []
        """What is left going, once the deadline has passed."""
        self.tables: dict[str, Table] = {}
        self.counts: Counter[str] = Counter()
        limit = None if means.config.run.deterministic else means.config.play.concurrency
        self._gate: AbstractAsyncContextManager[object] = asyncio.Semaphore(limit) if limit else nullcontext()
        self._controls: list[Play] = []
        self._full = False
        self._deadline: float | None = None
        self._arrived: dict[Carried, Unit] = {}
        for one in carried:
            self._adopt(one)

    @property
    def episodes(self) -> list[Episode]:
        """All that were played, by environment, arm and index."""
        pairs = [pair for table in self.tables.values() for pair in table.episodes]
        return [episode for _, episode in sorted(pairs, key=lambda pair: pair[0])]

    def deadline(self) -> float | None:
        """When time is called, by the event loop's clock; none while environments may still enter."""
        return self._deadline

    def seat(self, place: int, environment: Environment, *, awaits_hint: bool = False) -> Table:
        """Start an environment's first round; ``place`` is its own in the pool."""
        arms: tuple[Arm, ...] = ("unhinted",)
        if not awaits_hint and self._means.pool.is_fresh(environment):
            arms = ("unhinted", "hinted")
        known = self._means.known.get(environment.id)
        rounds = [range(self._means.allocation.later(known))] if known else self._means.allocation.rounds()
        plays = [play for play in self._plan(place, environment, arms) if play.index < rounds[-1].stop]
        table = Table(place, environment, plays, awaits_hint, rounds)
        self.tables[environment.id] = table
        self._deal(table)
        return table

    def hint(self, table: Table, environment: Environment) -> None:
        """The environment has its hint: start the hinted arm."""
        table.environment, table.awaits_hint = environment, False
        if self._means.pool.is_fresh(environment):
            hinted = self._plan(table.place, environment, ("hinted",))
            table.plays += hinted
            self._start(table, [play for play in hinted if play.index in table.rounds[0]])
        self._look(table)

    def clear(self, table: Table) -> None:
        """Forget an environment and its episodes."""
        self._pipeline.drop(unit for unit, _ in table.units.values())
        begun = sum(unit.task is not None for unit, _ in table.units.values())
        self.counts["rejected_episodes"] += len(table.episodes) + begun
        del self.tables[table.environment.id]

    def all_seated(self) -> None:
        """Nothing enters any more: the hints of all are known, and the clock starts."""
        self._full = True
        means, config = self._means, self._means.config
        if config.play.deadline_seconds is not None:
            self._deadline = asyncio.get_running_loop().time() + config.play.deadline_seconds
        self._forget([one for one in self._arrived if one.play.environment.id not in self.tables])
        plays = [play for table in self.tables.values() for play in table.plays]
        arms, limits = config.play.control_arms, means.settings.limits
        hinted = sum(play.arm == "hinted" for play in plays)
        ended = sum(len(table.episodes) for table in self.tables.values())
        means.watcher.stage(self.cycle, "play", len(plays) - ended + hinted * len(arms))
        if arms and hinted:
            self._pipeline.add(
                (self.cycle,),
                lambda: control_plays(means.sandbox, plays, arms, limits, config.run.seed),
                self._controls_known,
            )

    async def call_time(self) -> None:
        """The deadline has passed: carry over what may go on, and end the rest."""
        most = self._means.config.play.carry_over
        for table in self.tables.values():
            for unit, play in table.units.values():
                if play.arm == "unhinted" and most and unit.task is not None:
                    self.carried.append(Carried(play, unit.task, most))
                else:
                    table.episodes.append((play.key, given_up(play, LATE)))
                    self.counts["late"] += 1
        self._forget([one for one in self._arrived if one.left == 1])
        self.carried += [dataclasses.replace(one, left=one.left - 1) for one in self._arrived]
        await self._pipeline.stop(keep={one.task for one in self.carried})

    def _plan(self, place: int, environment: Environment, arms: Iterable[Arm]) -> list[Play]:
        config = self._means.config
        counts = (config.play.episodes, config.hinted_episodes)
        plays = plan_plays([environment], lambda one: True, self.cycle, config.run.seed, counts, config.play)
        return [
            dataclasses.replace(play, key=play_key(self.cycle, place, play.arm, play.index))
            for play in plays
            if play.arm in arms
        ]

    def _deal(self, table: Table) -> None:
        """Start a round, with the control episodes that belong to it."""
        indices = table.rounds[table.round]
        own = [play for play in self._controls if play.environment.id == table.environment.id]
        self._start(table, [play for play in (*table.plays, *own) if play.index in indices])
        self._look(table)

    def _start(self, table: Table, plays: Sequence[Play]) -> None:
        table.open += sum(play.arm not in CONTROL_ARMS for play in plays)
        for play in plays:
            self._start_one(table, play)

    def _start_one(self, table: Table, play: Play) -> None:
        means = self._means

        async def work() -> Episode:
            async with self._gate:
                await self._precedence.play()
                return await play_episode(means.policy, means.sandbox, play, means.settings)

        unit = self._pipeline.add(play.key, work, lambda episode: self._played(table, play, episode))
        table.units[play.key] = unit, play

    def _played(self, table: Table, play: Play, episode: Episode) -> None:
        del table.units[play.key]
        table.episodes.append((play.key, episode))
        if self._full:
            self._means.watcher.advance(sum(segment.sampled for segment in episode.segments))
        if play.arm not in CONTROL_ARMS:
            table.open -= 1
            self._look(table)

    def _look(self, table: Table) -> None:
        """Go on with the next round when one has ended and the allocation wants more."""
        if table.open or table.awaits_hint or table.round + 1 >= len(table.rounds):
            return
        main = [pair for pair in table.episodes if pair[1].arm not in CONTROL_ARMS]
        groups = group_episodes([episode for _, episode in sorted(main, key=lambda pair: pair[0])])
        if self._means.allocation.undecided(by_environment(groups)):
            table.round += 1
            self._deal(table)

    def _controls_known(self, plays: list[Play]) -> None:
        self._controls = plays
        for play in plays:
            table = self.tables[play.environment.id]
            if play.index < table.rounds[table.round].stop:
                self._start(table, [play])

    def _adopt(self, carried: Carried) -> None:
        """Wait for an episode that an earlier cycle left going; it outlives who waits."""

        async def end() -> Episode:
            return await asyncio.shield(carried.task)

        unit = self._pipeline.add(carried.play.key, end, lambda episode: self._landed(carried, episode))
        self._arrived[carried] = unit

    def _landed(self, carried: Carried, episode: Episode) -> None:
        """A carried episode has ended: it counts in this cycle's group, where its environment is still in play."""
        del self._arrived[carried]
        table = self.tables.get(episode.environment_id)
        self.counts["late" if table is None else "carried"] += 1
        if table is not None:
            table.episodes.append((carried.play.key, dataclasses.replace(episode, cycle=self.cycle)))

    def _forget(self, carried: Iterable[Carried]) -> None:
        """Give up carried episodes."""
        for one in carried:
            self._pipeline.drop([self._arrived.pop(one)])
            one.task.cancel()
            self.counts["late"] += 1
