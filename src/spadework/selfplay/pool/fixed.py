"""Environments drawn from a fixed pool at every cycle: the baselines without a designer (method section 9)."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from spadework.types import Environment, Group, derive_seed


class FixedPool:
    """Draws distinct environments, cycle by cycle.

    Args:
        environments: the whole pool.
        per_cycle: how many environments are drawn per cycle, at most all.
        replacement: whether draws are independent; otherwise the pool is shuffled, drawn to its end, and shuffled
            again.
        run_seed: seeds every draw and shuffle.
    """

    def __init__(self, environments: Sequence[Environment], per_cycle: int, replacement: bool, run_seed: int) -> None:
        if not 1 <= per_cycle <= len(environments):
            raise ValueError(f"{per_cycle} environments cannot be drawn from {len(environments)}")
        self.per_cycle, self.replacement, self.run_seed = per_cycle, replacement, run_seed
        self._environments = {environment.id: environment for environment in environments}
        self._shuffles = 0
        self._deck: list[str] = []
        self._retired: list[str] = []

    def draw(self, cycle: int) -> list[Environment]:
        """The environments of a cycle; each cycle is drawn once, in order."""
        if self.replacement:
            rng = random.Random(derive_seed(self.run_seed, "fixed-pool", cycle))
            return [self._environments[name] for name in rng.sample(self._active(), self.per_cycle)]
        taken = self._deck[: self.per_cycle]
        self._deck = self._deck[self.per_cycle :]
        if len(taken) < self.per_cycle:
            fresh = self._shuffled()
            more = [name for name in fresh if name not in taken][: self.per_cycle - len(taken)]
            self._deck = [name for name in fresh if name not in more]
            taken += more
        return [self._environments[name] for name in taken]

    def _shuffled(self) -> list[str]:
        names = self._active()
        random.Random(derive_seed(self.run_seed, "fixed-pool-shuffle", self._shuffles)).shuffle(names)
        self._shuffles += 1
        return names

    def _active(self) -> list[str]:
        return [name for name in self._environments if name not in self._retired]

    def learn(self, groups: Iterable[Group]) -> None:
        """Does nothing: draws depend on returns only through ``retire``."""

    def retire(self, names: Collection[str]) -> None:
        """Take environments out of the pool. The longest retired return while it holds less than one draw takes."""
        self._retired += [name for name in self._environments if name in names and name not in self._retired]
        most = len(self._environments) - self.per_cycle
        self._retired = self._retired[max(0, len(self._retired) - most) :]
        self._deck = [name for name in self._deck if name not in self._retired]

    def state_dict(self) -> dict[str, Any]:
        """The environments still to be drawn, the number of shuffles, and the retired environments."""
        return {"deck": list(self._deck), "shuffles": self._shuffles, "retired": list(self._retired)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from ``state_dict``, without environments that are no longer in the pool."""
        self._deck = [name for name in state["deck"] if name in self._environments]
        self._shuffles = int(state["shuffles"])
        self._retired = [name for name in state.get("retired", []) if name in self._environments]

    def metrics(self) -> dict[str, float]:
        """The number of environments still to be drawn, and of retired ones."""
        return {"pool/deck": float(len(self._deck)), "pool/retired": float(len(self._retired))}
