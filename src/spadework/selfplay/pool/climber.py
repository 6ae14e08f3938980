"""Designed environments that are won move up a level, by the same windows as a fixed pool's."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from spadework.selfplay.pool.controller import Controller
from spadework.selfplay.pool.levelled import at, level_of
from spadework.types import Environment, Group


class Climber:
    """Keeps a window for every environment in play that has levels; it is played at the top of it.

    An environment goes by another id at each level, with both arms to play anew: what its designer is paid stays that
    of the level that was designed.
    """

    def __init__(self, controller: Controller) -> None:
        self.controller = controller
        self.rising: frozenset[str] = frozenset()
        """Ids of the last cycle that have levels above: mastering them is no reason to retire them."""

    def climb(self, environments: Sequence[Environment], groups: Iterable[Group], cycle: int) -> dict[str, Environment]:
        """Take in a cycle's unhinted play: id -> the environment one level up, for those that are promoted."""
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
        """The controller's."""
        return self.controller.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from ``state_dict``."""
        self.controller.load_state_dict(state)
