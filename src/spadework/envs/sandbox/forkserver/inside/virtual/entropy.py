"""Virtual entropy: what asks the operating system for randomness draws from the seed instead."""

from __future__ import annotations

import _random
import os
import random
import sys
from typing import Any

from .patches import replace
from .source import SOURCE

_seed_generator = random.Random.seed


def install() -> None:
    """Replace every source of entropy of the modules that are loaded."""
    draw = SOURCE.bytes

    def seed(self: random.Random, a: Any = None, version: int = 2) -> None:
        _seed_generator(self, int.from_bytes(draw(16), "little") if a is None else a, version)

    class CoreGenerator(_random.Random):
        """The generator below ``random.Random``, which seeds itself in C where it is given nothing."""

        def __init__(self, a: Any = None) -> None:
            self.seed(a)

        def seed(self, a: Any = None) -> None:
            super().seed(int.from_bytes(draw(16), "little") if a is None else a)

    replace(os, urandom=draw, getrandom=lambda size, flags=0: draw(size))
    replace(random, _urandom=draw)
    replace(_random, Random=CoreGenerator)
    random.Random.seed = seed  # type: ignore[method-assign]
    random.seed = random._inst.seed
    if "secrets" in sys.modules:
        replace(sys.modules["secrets"], token_bytes=lambda nbytes=None: draw(32 if nbytes is None else nbytes))
    if "uuid" in sys.modules:
        uuid = sys.modules["uuid"]
        replace(uuid, getnode=lambda: 1, uuid1=lambda node=None, clock_seq=None: uuid.UUID(bytes=draw(16), version=1))
