"""One cycle's designs and episodes, from top to bottom (method section 2, steps 1 and 2).

Each slot that is due for a design has a coroutine of its own (``_fill``): it asks for a program, plays it without a
hint while the hint is being written, then plays it with the hint, in rounds, until the allocation has seen enough. Each
environment that stays in play has one too (``_play``). Slots wait for each other in two things only: the control arms
borrow hints, so they start when all slots have their environments, and the deadline counts from then on.

Of two designs with the same structure and numbers the earlier one is kept: in a deterministic run the one with the
smaller attempt and slot, else the one that was validated first.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from spadework.config import RunConfig
from spadework.envs.sandbox.base import Sandbox
from spadework.errors import first_error
from spadework.observer import Observer
from spadework.policies.base import Policy
from spadework.rollout import Play, PlaySettings, given_up, play_episode
from spadework.selfplay.design.designer import TWIN, Candidate, Designer
from spadework.selfplay.design.novelty import SeenPrograms
from spadework.selfplay.keys import design_key, hint_key, play_key
from spadework.selfplay.play.allocation import Allocation
from spadework.selfplay.play.controls import control_plays
from spadework.selfplay.play.plan import plan_plays
from spadework.selfplay.play.priority import CheckPriority
from spadework.selfplay.play.rounds import LATE, EnvironmentPlays, Unfinished
from spadework.selfplay.pool.pool import Entry, Pool
from spadework.selfplay.records import Evidence
from spadework.selfplay.score.scoring import by_environment
from spadework.selfplay.steps import Step, Steps
from spadework.types import Arm, Design, Environment, Episode, Key


@dataclass(frozen=True, slots=True)
class CycleContext:
    """The settings, models and stages that a cycle uses. The same stages go on into the next cycle."""

    config: RunConfig
    designer: Designer | None
    """``None`` in a cycle without designs."""
    policy: Policy
    """The model that plays."""
    author: Policy
    """The model that writes programs and hints; usually the one that plays."""
    sandbox: Sandbox
    settings: PlaySettings
    allocation: Allocation
    known: Mapping[str, Evidence]
    """The evidence so far, by environment id, about environments that are in a later cycle of their window."""
    pool: Pool
    seen: SeenPrograms
    """Programs that may not be copied. Each accepted program is added."""
    filler: Callable[[int], Environment | None]
    """A bundled environment for a slot that no design has ever filled."""
    observer: Observer


class Cycle:
    """Collects the designs and episodes of one cycle: call ``run`` once, then read the attributes and properties.

    Args:
        context: the settings, models and stages that the cycle uses.
        number: the number of the cycle in the run, from 0.
        unfinished: episodes of earlier cycles that are still being played.
    """

    def __init__(self, context: CycleContext, number: int, unfinished: Sequence[Unfinished] = ()) -> None:
        self.context = context
        self.number = number
        self.designs: list[Design] = []
        """All attempts at designs. They are in order of slot and attempt once ``run`` has ended."""
        self.unfinished: list[Unfinished] = []
        """Episodes that are still being played when ``run`` ends."""
        self._entered: dict[int, Environment] = {}
        """The environment that entered the pool in each slot."""
        self._drafts = SeenPrograms()
        """Programs of this cycle that passed every check and may still be waiting for their hint."""
        self._plays: dict[str, EnvironmentPlays] = {}
        """The plays of each environment in this cycle, by environment id."""
        self._arriving: dict[Unfinished, asyncio.Task[None] | None] = dict.fromkeys(unfinished)
        """Episodes of earlier cycles that have not ended, and the task that waits for each."""
        self._counts: Counter[str] = Counter()
        config = context.config
        self._designing = config.designer.environments if context.designer else 0
        """The number of slots that have no environment yet."""
        self._steps = Steps(waves=config.run.deterministic, together=self._attend)
        self._priority = CheckPriority()
        self._gate: AbstractAsyncContextManager[object] = nullcontext()
        # Under a limit an episode starts when another one ends, and when that is depends on the machine's speed.
        if config.play.concurrency and not config.run.deterministic:
            self._gate = asyncio.Semaphore(config.play.concurrency)

    @property
    def entered(self) -> list[Environment]:
        """Environments that came into the pool, by slot."""
        return [self._entered[slot] for slot in sorted(self._entered)]

    @property
    def episodes(self) -> list[Episode]:
        """All episodes, ordered by their keys: environment, arm and index."""
        pairs = [pair for plays in self._plays.values() for pair in plays.episodes]
        return [episode for _, episode in sorted(pairs, key=lambda pair: pair[0])]

    def metrics(self) -> dict[str, float]:
        """Counts of episodes that were late, carried over, or lost with a design whose hint failed, if any were."""
        return {f"agent/{name}": float(count) for name, count in self._counts.items() if count}

    async def run(self) -> None:
        """Design where that is due, and play everything, until all has ended or the deadline has passed.

        Faults of programs, models and sandboxes are recorded in the designs and episodes and are not raised.
        """
        designing = self._designing  # the number changes as soon as slots are filled
        standing = self._standing()
        try:
            async with asyncio.timeout(None) as self._clock, asyncio.TaskGroup() as self._group:
                for episode in self._arriving:
                    self._arriving[episode] = self._spawn(self._await_unfinished(episode))
                for place, environment in standing:
                    self._spawn(self._play(self._open(place, environment)))
                if designing:
                    self.context.observer.stage(self.number, "design", designing)
                    for slot in range(designing):
                        self._spawn(self._fill(slot))
                else:
                    self._all_entered()
        except TimeoutError:
            self._cut_off()
        except BaseExceptionGroup as group:
            raise first_error(group) from group
        finally:
            await self._steps.stop(keep={one.task for one in self.unfinished})
            self.designs.sort(key=lambda design: (design.slot, design.attempt))

    def _standing(self) -> list[tuple[int, Environment]]:
        """The place and the environment of each anchor and each slot that gets no new design in this cycle."""
        pool = self.context.pool
        standing = list(enumerate(pool.anchors))
        for slot in range(self._designing, pool.slots):
            held = pool.at(slot)
            if held is not None:
                standing.append((self._place(slot), held))
        return standing

    async def _fill(self, slot: int) -> None:
        """Give a slot a new environment and play it; after the last failed attempt, play what the slot had."""
        designer, place = self.context.designer, self._place(slot)
        assert designer is not None
        for attempt in range(designer.settings.attempts):
            candidate = await self._design(designer, slot, attempt)
            if candidate is None:
                continue
            # The unhinted arm needs no hint, so it plays while the hint is being written.
            plays = self._open(place, candidate.environment, hint_follows=True)
            environment = await self._write_hint(designer, candidate, hint_key(self.number, slot, attempt))
            if environment is None:
                self._drop(plays)
                continue
            self._enter(slot, environment, "designed")
            self.context.seen.add(environment.source)
            self._add_hinted(plays, environment)
            break
        else:
            held = self._keep_old(slot)
            if held is None:
                self._settled(slot)
                return
            plays = self._open(place, held)
        self._settled(slot)
        await self._play(plays)

    async def _design(self, designer: Designer, slot: int, attempt: int) -> Candidate | None:
        """Make one attempt. Returns a program that passed all checks and is no copy; records one that failed."""
        work = partial(designer.attempt, self.context.author, self.number, slot, attempt, self._priority.checking)
        tried = await self._steps.run(design_key(self.number, slot, attempt), work)
        if isinstance(tried, Candidate) and self._is_twin(tried.environment):
            tried = tried.refused(TWIN)
        if isinstance(tried, Design):
            self.designs.append(tried)
            return None
        self._drafts.add(tried.environment.source)
        return tried

    async def _write_hint(self, designer: Designer, candidate: Candidate, key: Key) -> Environment | None:
        """Have the hint written. Returns the whole environment, or ``None`` if every hint was empty or leaked."""
        work = partial(designer.write_hint, self.context.author, candidate)
        design, environment = await self._steps.run(key, work)
        self.designs.append(design)
        return environment

    async def _play(self, plays: EnvironmentPlays) -> None:
        """Play an environment, whose first round has started, until the allocation needs no further round."""
        while True:
            await self._steps.wait(plays.main_steps)
            last = plays.round + 1 >= len(plays.rounds)
            if last or not self.context.allocation.undecided(by_environment(plays.groups)):
                break
            plays.round += 1
            self._start(plays, plays.of_round())
        await self._steps.wait(step for _, step in plays.started)

    async def _play_controls(self) -> None:
        """Play the control arms of all environments in the rounds that have begun. Later rounds start their own."""
        context = self.context
        arms, limits, seed = context.config.play.control_arms, context.settings.limits, context.config.run.seed
        plays = [play for one in self._plays.values() for play in one.planned]
        # Control arms borrow hints from other environments, so one step plans those of the whole cycle.
        work = partial(control_plays, context.sandbox, plays, arms, limits, seed)
        controls = await self._steps.run((self.number,), work)
        started: list[Step[Episode]] = []
        for play in controls:
            one = self._plays[play.environment.id]
            one.controls.append(play)
            if play.index < one.rounds[one.round].stop:
                started += self._start(one, [play])
        await self._steps.wait(started)

    async def _await_unfinished(self, unfinished: Unfinished) -> None:
        """Wait for an episode of an earlier cycle. It counts in this one if its environment is in play at its end."""
        episode = await self._steps.run(unfinished.play.key, partial(_outlive, unfinished.task))
        del self._arriving[unfinished]
        plays = self._plays.get(episode.environment_id)
        self._counts["late" if plays is None else "carried"] += 1
        if plays is not None:
            plays.arrived.append((unfinished.play.key, dataclasses.replace(episode, cycle=self.number)))

    def _open(self, place: int, environment: Environment, *, hint_follows: bool = False) -> EnvironmentPlays:
        """Start an environment's first round, in the arms that are due and can be played already.

        The hinted arm is due while an environment is fresh. With ``hint_follows`` it is left to ``_add_hinted``.
        """
        allocation, known = self.context.allocation, self.context.known.get(environment.id)
        rounds = [range(allocation.later(known))] if known else allocation.rounds()
        plays = EnvironmentPlays(place, environment, rounds, [])
        self._plays[environment.id] = plays
        arms: list[Arm] = ["unhinted"]
        if not hint_follows and self.context.pool.is_fresh(environment):
            arms.append("hinted")
        self._start(plays, plays.plan(self._planned(place, environment, arms)))
        return plays

    def _add_hinted(self, plays: EnvironmentPlays, environment: Environment) -> None:
        """Add the hinted arm to the first round of an environment that has its hint by now."""
        plays.environment = environment
        if self.context.pool.is_fresh(environment):
            self._start(plays, plays.plan(self._planned(plays.place, environment, ("hinted",))))

    def _planned(self, place: int, environment: Environment, arms: Iterable[Arm]) -> list[Play]:
        """The plays of an environment in ``arms``, with their keys."""
        config = self.context.config
        counts = (config.play.episodes, config.hinted_episodes)
        planned = plan_plays([environment], lambda one: True, self.number, config.run.seed, counts, config.play)
        plays = []
        for play in planned:
            if play.arm in arms:
                # The key has the place and not the order of arrival, so it is the same in every run.
                key = play_key(self.number, place, play.arm, play.index)
                plays.append(dataclasses.replace(play, key=key))
        return plays

    def _start(self, plays: EnvironmentPlays, due: Iterable[Play]) -> list[Step[Episode]]:
        """Start episodes of an environment and return their steps."""
        started = [(play, self._steps.start(play.key, partial(self._episode, play))) for play in due]
        plays.started += started
        return [step for _, step in started]

    async def _episode(self, play: Play) -> Episode:
        """Play one episode, once a place is free and no program is being checked."""
        context = self.context
        async with self._gate:
            await self._priority.wait()
            episode = await play_episode(context.policy, context.sandbox, play, context.settings)
        if not self._designing:  # while slots are being designed, the observer counts designs
            context.observer.advance(sum(segment.sampled for segment in episode.segments))
        return episode

    def _drop(self, plays: EnvironmentPlays) -> None:
        """Forget an environment whose design got no clean hint: free its sessions and record none of its episodes."""
        self._drafts.discard(plays.environment.source)
        self._counts["rejected_episodes"] += sum(step.task is not None for _, step in plays.started)
        self._steps.drop(step for _, step in plays.started)
        del self._plays[plays.environment.id]

    def _keep_old(self, slot: int) -> Environment | None:
        """The environment that a slot without a new design goes on with: the one that it had, or a bundled one."""
        pool = self.context.pool
        filler = self.context.filler(slot) if pool.at(slot) is None else None
        if filler is not None:
            self._enter(slot, filler, "bundled")
        return pool.at(slot)

    def _enter(self, slot: int, environment: Environment, why: Entry) -> None:
        """Put a new environment into a slot of the pool."""
        self.context.pool.fill(slot, environment, why)
        self._entered[slot] = environment

    def _settled(self, slot: int) -> None:
        """Note that a slot's designs have ended, with an environment or without. The last slot starts the rest."""
        self._designing -= 1
        own = [design for design in self.designs if design.slot == slot]
        self.context.observer.advance(sum(segment.sampled for design in own for segment in design.segments))
        if not self._designing:
            self._all_entered()

    def _all_entered(self) -> None:
        """Start what waits until every slot has its environment: the control arms and the clock of the deadline."""
        config = self.context.config
        if config.play.deadline_seconds is not None:
            self._clock.reschedule(asyncio.get_running_loop().time() + config.play.deadline_seconds)
        # No more environments enter, so an unfinished episode of one that is not in play can count for nothing.
        self._forget([one for one in self._arriving if one.play.environment.id not in self._plays])
        planned = [play for plays in self._plays.values() for play in plays.planned]
        hinted = sum(play.arm == "hinted" for play in planned)
        ended = sum(len(plays.episodes) for plays in self._plays.values())
        controls = hinted * len(config.play.control_arms)
        self.context.observer.stage(self.number, "play", len(planned) - ended + controls)
        if controls:
            self._spawn(self._play_controls())

    def _cut_off(self) -> None:
        """Carry over, after the deadline, the episodes that may go on, and record all others as late."""
        most = self.context.config.play.carry_over
        self._forget([one for one in self._arriving if one.cycles_left == 1])
        going = [dataclasses.replace(one, cycles_left=one.cycles_left - 1) for one in self._arriving]
        for plays in self._plays.values():
            for play, step in plays.take_unended():
                # A hinted arm is compared in its own cycle alone, so only unhinted episodes are worth carrying over.
                if play.arm == "unhinted" and most and step.task is not None:
                    going.append(Unfinished(play, step.task, most))
                else:
                    plays.arrived.append((play.key, given_up(play, LATE)))
                    self._counts["late"] += 1
        self.unfinished = going

    def _forget(self, unfinished: Iterable[Unfinished]) -> None:
        """Give up episodes of earlier cycles."""
        for one in unfinished:
            waiting = self._arriving.pop(one)
            if waiting is not None:
                waiting.cancel()
            one.task.cancel()
            self._counts["late"] += 1

    def _is_twin(self, environment: Environment) -> bool:
        """Whether an environment is in play already, or copies a program that is known."""
        context = self.context
        playing = {one.id for one in context.pool.environments} | set(self._plays)
        copied = environment.source in context.seen or environment.source in self._drafts
        return environment.id in playing or (copied and context.config.validation.refuse_copies)

    def _place(self, slot: int) -> int:
        """The position of a slot among all environments in play, in which anchors come first."""
        return len(self.context.pool.anchors) + slot

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self._steps.spawn(self._group, coroutine)

    def _attend(self) -> ExitStack:
        """Keep both models from sampling until a whole wave has started."""
        stack = ExitStack()
        stack.enter_context(self.context.policy.attend())
        if self.context.author is not self.context.policy:
            stack.enter_context(self.context.author.attend())
        return stack


async def _outlive(task: asyncio.Task[Episode]) -> Episode:
    """Wait for an episode. Cancelling the wait does not cancel the episode."""
    return await asyncio.shield(task)
