"""What a trainer in this process feeds: whoever speaks with the weights that it trains."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from torch import Tensor

from spadework.policies.base import Policy

T = TypeVar("T")


class Speaker(Policy, Protocol):
    """A policy whose weights are pushed to it: the embedded sampler, or a server on the same machine."""

    async def run(self, work: Callable[[], T]) -> T:
        """Run something in the thread that the model's work is done in."""
        ...

    def set_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Speak with these weights, by their names in the model; blocks until they speak. Raises ``PolicyError``."""
        ...

    def set_version(self, version: int) -> None:
        """Set the version that completions carry from now on."""
        ...
