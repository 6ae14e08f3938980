"""Move designed environments up a level when they are won, by the same level windows as in a fixed pool."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from spadework.selfplay.pool.controller import Controller
from spadework.selfplay.pool.levelled import at, level_of
from spadework.types import Environment, Group


class Climber:
    """Keeps a window of levels for every environment in play that has levels, which is played at its window's top.

    An environment has another id at each level, and both of its arms are played again there. The designer's reward
    depends only on the level that was designed.
    """

    def __init__(self, controller: Controller) -> None:
        self.controller = controller
        self.rising: frozenset[str] = frozenset()
        """Ids of the last cycle's environments that have a higher level; when mastered, they climb instead."""

    def climb(self, environments: Sequence[Environment], groups: Iterable[Group], cycle: int) -> dict[str, Environment]:
        """Update the windows with a cycle's unhinted play; returns id -> next level's environment for promoted ones."""
        unhinted = {group.environment_id: group for group in groups if group.arm == "unhinted"}
        climbed, playing, rising = {}, set(), set()
        for environment in environments:
            span = level_of(environment)
            if span is None:
                continue
            name = environment.id.removesuffix(f"-d{span.start}")
            playing.add(name)
            self.controller.add(name, span)
            if not self.controller.at_top(name):
                rising.add(environment.id)
            group = unhinted.get(environment.id)
            if group is None:
                continue
            wins = sum(episode.win for episode in group.valid)
            if self.controller.learn(name, span.start, wins, len(group.valid), group.mean_return):
                higher = at(environment, self.controller.window(name).high, name)
                climbed[environment.id] = dataclasses.replace(higher, cycle=cycle)
        self.controller.keep(playing)
        self.rising = frozenset(rising)
        return climbed

    def state_dict(self) -> dict[str, Any]:
        """The state of the controller."""
        return self.controller.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from ``state_dict``."""
        self.controller.load_state_dict(state)
