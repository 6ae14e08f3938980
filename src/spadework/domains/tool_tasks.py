"""Variants of tool-use tasks. Besides its document, a design is given a variant and a service, drawn by seed."""

from __future__ import annotations

import random

from spadework.envs.domain import Task

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
"""Variant -> (its weight in the draw, its description for the designer)."""
SERVICES = (
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
"""Kinds of service, each equally likely."""


def draw_task(seed: int) -> Task:
    """Draw the task of one design attempt."""
    rng = random.Random(seed)
    weights = [weight for weight, _ in VARIANTS.values()]
    return describe_task(rng.choices(tuple(VARIANTS), weights)[0], rng.choice(SERVICES))


def describe_task(variant: str, service: str) -> Task:
    """The task of a variant about a service. Raises ``ValueError`` for an unknown variant."""
    if variant not in VARIANTS:
        raise ValueError(f"there is no variant {variant!r}; there are {', '.join(VARIANTS)}")
    return Task(variant, {"domain": service, "variant": variant, "brief": VARIANTS[variant][1]})
