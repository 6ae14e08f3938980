"""``Benchmark``, the protocol that every suite implements: it lists its items and scores one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from spadework.evals.records import Item, Outcome, Setting
from spadework.policies.base import Policy
from spadework.types import Key


class Benchmark(Protocol):
    """One suite under one setting (preset, sampling, data)."""

    @property
    def setting(self) -> Setting:
        """The conditions under which the scores were measured; see ``Setting``."""
        ...

    def items(self) -> Sequence[Item]:
        """All items, in an order that never changes. Raises ``ConfigError`` for data that cannot be used."""
        ...

    async def score(self, policy: Policy, item: Item, key: Key) -> Outcome:
        """Let ``policy`` try one item. ``key`` is the prefix of the keys that seed its replies.

        Raises ``FaultError`` (endpoint, grader, sandbox): the item then counts as a failure.
        """
        ...

    async def close(self) -> None:
        """Release processes and files."""
        ...
