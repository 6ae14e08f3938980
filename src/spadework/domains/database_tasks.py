"""Variants of tasks on databases. Besides its document, a design is given a variant and a place, drawn by seed."""

from __future__ import annotations

import random

from spadework.envs.domain import Task

VARIANTS = {
    "explicit": (3, "the instruction says what is to be done and in which order; identifiers have to be looked up"),
    "dependent records": (
        3,
        "each look-up gives the key of the next one, across at least three tables, before anything can be changed",
    ),
    "set of records": (2, "one change applies to every record that meets a condition, and to no other"),
    "implicit intent": (
        2,
        "the user tells of a situation or a need and names no step; what has to be done follows from a table of rules "
        "that a tool shows",
    ),
    "distractor tools": (
        2,
        "at least three tools have names and parameters close to those that are needed and do something else; their "
        "descriptions tell them apart",
    ),
}
"""Variant -> (its weight in the draw, its description for the designer)."""
PLACES = (
    "a clinic",
    "a warehouse",
    "a library",
    "a shipping office",
    "a theatre",
    "a farm",
    "a repair workshop",
    "a school",
    "a museum",
    "a utility",
    "a housing office",
    "a laboratory",
)
"""Kinds of place that keep such a database, each equally likely."""
STEPS_UNPAID = "Leave `format_reward` alone: single steps are not paid."
STEPS_PAID = "Set the class attribute `format_reward = 0.01`: each step whose calls can be read is paid that much."


def draw_task(seed: int) -> Task:
    """Draw the task of one design attempt."""
    rng = random.Random(seed)
    weights = [weight for weight, _ in VARIANTS.values()]
    return describe_task(rng.choices(tuple(VARIANTS), weights)[0], rng.choice(PLACES))


def describe_task(variant: str, place: str) -> Task:
    """The task of a variant about a place. Raises ``ValueError`` for an unknown variant."""
    if variant not in VARIANTS:
        raise ValueError(f"there is no variant {variant!r}; there are {', '.join(VARIANTS)}")
    return Task(variant, {"place": place, "variant": variant, "brief": VARIANTS[variant][1]})
