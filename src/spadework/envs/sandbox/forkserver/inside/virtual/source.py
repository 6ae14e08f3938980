"""The seed of an episode, and the time and the entropy that follow from it."""

from __future__ import annotations

import random
import sys
from _blake2 import blake2b  # hashlib's own, without the cryptographic library that hashlib loads

EPOCH = 1_700_000_000.0
"""The time at which every episode begins."""
TICK = 1e-3
"""Seconds that pass at each look at a clock."""


class Source:
    """The seed, how much entropy was drawn from it, and the time."""

    def __init__(self) -> None:
        self.seed = b""
        self.drawn = 0
        self.now = EPOCH

    def bytes(self, count: int) -> bytes:
        """The next ``count`` bytes of entropy."""
        out = b""
        while len(out) < count:
            out += blake2b(self.seed + self.drawn.to_bytes(8, "little")).digest()
            self.drawn += 1
        return out[:count]

    def tick(self) -> float:
        """The time, a little later than at the last look."""
        self.now += TICK
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let time pass at once."""
        self.now += max(0.0, float(seconds))


SOURCE = Source()


def reseed(seed: int) -> None:
    """Start time and all entropy over, as ``seed`` has it."""
    SOURCE.seed = (seed % (1 << 128)).to_bytes(16, "little")
    SOURCE.drawn, SOURCE.now = 0, EPOCH
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % (1 << 32))
