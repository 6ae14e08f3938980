"""The episodes of one environment in one cycle, divided into rounds, and episodes that continue in later cycles."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from spadework.rollout import Play
from spadework.selfplay.play.plan import group_episodes
from spadework.selfplay.steps import Step
from spadework.types import CONTROL_ARMS, Environment, Episode, Fault, Group, Key

LATE = Fault("late", "LATE", "it had not ended when the cycle's play.deadline_seconds ran out")


@dataclass(frozen=True, slots=True, eq=False)
class Unfinished:
    """An episode that continues beyond its cycle, and the number of cycles for which it may still do so."""

    play: Play
    task: asyncio.Task[Episode]
    cycles_left: int


@dataclass(slots=True, eq=False)
class EnvironmentPlays:
    """The plays of one environment in a cycle.

    The plays of both arms are divided into rounds by their index; the control plays join the round of their index.
    """

    place: int
    """Index of the environment in the pool: anchors first, then slots."""
    environment: Environment
    rounds: list[range]
    """The episode indices of each round."""
    planned: list[Play]
    """The plays of all arms that were planned so far."""
    controls: list[Play] = field(default_factory=list)
    round: int = 0
    started: list[tuple[Play, Step[Episode]]] = field(default_factory=list)
    arrived: list[tuple[Key, Episode]] = field(default_factory=list)
    """Episodes of earlier cycles that ended in this one, and those that ran out of time."""

    def plan(self, plays: Iterable[Play]) -> list[Play]:
        """Add an arm's plays; returns those of the current round."""
        plays = [play for play in plays if play.index < self.rounds[-1].stop]
        self.planned += plays
        return [play for play in plays if play.index in self.rounds[self.round]]

    def of_round(self) -> list[Play]:
        """All planned plays of the current round."""
        return [play for play in (*self.planned, *self.controls) if play.index in self.rounds[self.round]]

    @property
    def main_steps(self) -> list[Step[Episode]]:
        """The steps of both arms, without control arms."""
        return [step for play, step in self.started if play.arm not in CONTROL_ARMS]

    def take_unended(self) -> list[tuple[Play, Step[Episode]]]:
        """Remove and return the plays that have not ended."""
        unended = [(play, step) for play, step in self.started if not step.done]
        self.started = [(play, step) for play, step in self.started if step.done]
        return unended

    @property
    def episodes(self) -> list[tuple[Key, Episode]]:
        """All episodes that have ended, with their keys."""
        ended = [(play.key, step.result) for play, step in self.started if step.done]
        return sorted([*ended, *self.arrived], key=lambda pair: pair[0])

    @property
    def groups(self) -> list[Group]:
        """The episodes that have ended, grouped by arm."""
        return group_episodes([episode for _, episode in self.episodes if episode.arm not in CONTROL_ARMS])
