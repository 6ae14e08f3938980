"""A fixed pool whose environments have levels: a controller draws environment and level at every cycle."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from spadework.envs.levels import at_level, levels
from spadework.selfplay.pool.controller import Controller, Span
from spadework.types import Environment, Group, derive_seed


def level_of(environment: Environment) -> Span | None:
    """The first and last level of an environment; ``None`` for one without levels."""
    found = levels(environment.source)
    return None if found is None else Span(found.start, found.top)


def at(environment: Environment, level: int, name: str) -> Environment:
    """The environment at ``level``, as a new environment; ``name`` is its id without a level."""
    return dataclasses.replace(environment, id=f"{name}-d{level}", source=at_level(environment.source, level))


class LevelledPool:
    """Draws environments and levels independently: one may come several times in a cycle, each time with other seeds.

    Args:
        environments: the whole pool; those without levels are always played as they are.
        per_cycle: how many environments are drawn per cycle.
        controller: moves the levels.
        run_seed: seeds every draw.
    """

    def __init__(
        self, environments: Sequence[Environment], per_cycle: int, controller: Controller, run_seed: int
    ) -> None:
        self.per_cycle, self.controller, self.run_seed = per_cycle, controller, run_seed
        self._environments = {environment.id: environment for environment in environments}
        self._spans = {name: level_of(environment) for name, environment in self._environments.items()}
        self._drawn: dict[str, tuple[str, int]] = {}
        for name, span in self._spans.items():
            controller.add(name, span or Span(0, 0))

    def draw(self, cycle: int) -> list[Environment]:
        """The environments of a cycle."""
        rng = random.Random(derive_seed(self.run_seed, "difficulty", cycle))
        self._drawn, times, drawn = {}, Counter[tuple[str, int]](), []
        for _ in range(self.per_cycle):
            name, level = self.controller.draw(rng)
            times[name, level] += 1
            environment = self._environments[name]
            if self._spans[name] is not None:
                environment = at(environment, level, name)
            if times[name, level] > 1:
                environment = dataclasses.replace(environment, id=f"{environment.id}-{times[name, level]}")
            self._drawn[environment.id] = (name, level)
            drawn.append(environment)
        return drawn

    def learn(self, groups: Iterable[Group]) -> None:
        """Pass the wins of the cycle's unhinted episodes to the controller."""
        for group in groups:
            if group.arm == "unhinted" and group.environment_id in self._drawn:
                wins = sum(episode.win for episode in group.valid)
                name, level = self._drawn[group.environment_id]
                self.controller.learn(name, level, wins, len(group.valid), group.mean_return)

    def retire(self, names: Iterable[str]) -> None:
        """Does nothing: mastered environments move up a level instead of leaving."""

    def state_dict(self) -> dict[str, Any]:
        """The controller's."""
        return self.controller.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from ``state_dict``, without the windows of environments that are no longer in the pool."""
        kept = {
            key: {name: value for name, value in state[key].items() if name in self._environments}
            for key in ("windows", "spans")
        }
        self.controller.load_state_dict({**state, **kept})

    def metrics(self) -> dict[str, float]:
        """The controller's."""
        return self.controller.metrics()
