"""What a tool-use design is asked to be about beside its document: a variant of task and a domain, drawn by seed."""

from __future__ import annotations

import random
from dataclasses import dataclass

VARIANTS = {
    "execute": (
        3,
        "every value that a call needs stands in the instructions; which call, and in which order, does not",
    ),
    "read-then-write": (2, "what is to be changed, and to what, follows from records that have to be read first"),
    "missing value": (1, "a value that a call needs is never said and has to be looked up by another tool"),
    "irrelevant request": (
        1,
        "one instruction asks for something that no tool can do; it must be declined: its criterion is that nothing "
        "was changed for it, and its part of the plan is empty",
    ),
}
"""Variant -> its weight among the draws, and what makes it."""
DOMAINS = (
    "retail orders",
    "travel booking",
    "telecom accounts",
    "banking",
    "calendar",
    "files",
    "shopping cart",
    "support tickets",
    "smart home",
    "project tracker",
)


@dataclass(frozen=True, slots=True)
class Task:
    """A variant and a domain."""

    variant: str
    domain: str

    @property
    def brief(self) -> str:
        """What makes the variant."""
        return VARIANTS[self.variant][1]


def draw_task(seed: int) -> Task:
    """The task of one attempt."""
    rng = random.Random(seed)
    weights = [weight for weight, _ in VARIANTS.values()]
    return Task(rng.choices(tuple(VARIANTS), weights)[0], rng.choice(DOMAINS))
