"""The seam of a suite: its items, and how one of them is scored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from spadework.evals.records import Item, Outcome, Setting
from spadework.policies.base import Policy
from spadework.types import Key


class Benchmark(Protocol):
    """One suite under one setting."""

    @property
    def setting(self) -> Setting:
        """What its numbers hold for."""
        ...

    def items(self) -> Sequence[Item]:
        """All items, in an order that never changes. Raises ``ConfigError`` for data that cannot be used."""
        ...

    async def score(self, policy: Policy, item: Item, key: Key) -> Outcome:
        """Let ``policy`` try one item; ``key`` begins the keys of its replies.

        Raises ``FaultError`` (endpoint, grader, sandbox): the item then counts as a failure.
        """
        ...

    async def close(self) -> None:
        """Let go of processes and files."""
        ...
