"""The script of a toy games run: it writes adding games, some of them broken, and plays them."""

from __future__ import annotations

import random
from collections.abc import Sequence

from spadework.types import Message

PROGRAM = '''\
import random


class Sums{low}To{high}Env:
    """Add two hidden-in-plain-sight numbers."""

    max_turns = 2

    def reset(self, seed=None):
        rng = random.Random(seed)
        a = rng.randint({low}, {high})
        b = rng.randint({low}, {high})
        self.answer = str(a + b)
        self.turn = 0
        return f"Add {{a}} and {{b}}.", {{}}

    def step(self, action):
        self.turn += 1
        guess = action.removeprefix("\\\\boxed{{").removesuffix("}}").strip()
        if guess == self.answer:
            return "Correct.", 1.0, True, False, {{}}
        return "Wrong.", 0.0, False, self.turn >= 2, {{}}

    def solution(self):
        return self.answer
'''


def demo_script(messages: Sequence[Message], rng: random.Random, version: int) -> str:
    """Plays both roles of a toy run: writes adding games, a fifth of them broken, and adds better with each version."""
    last = messages[-1]["content"]
    if "source of a text game" in last:
        return "Add the two numbers digit by digit, carry, and box the sum."
    if "Write one new environment" in last:
        low = rng.randint(1, 50)
        program = PROGRAM.format(low=low, high=low + rng.randint(20, 90))
        return f"```python\n{program.replace('self.turn = 0', 'self.turn = ') if rng.random() < 0.2 else program}```"
    first = next((m["content"] for m in messages if m["role"] == "user" and "Add " in m["content"]), last)
    numbers = [int(word.strip(".")) for word in first.split() if word.strip(".").isdigit()]
    skill = min(0.95, 0.2 + 0.05 * version + (0.4 if "HINT" in first else 0.0))
    return f"\\boxed{{{sum(numbers[:2]) + (0 if rng.random() < skill else 1)}}}"
