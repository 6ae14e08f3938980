"""Keys of the work of a cycle, in the order in which a deterministic engine admits it."""

from __future__ import annotations

from typing import get_args

from spadework.types import Arm, Key

DESIGN, HINT, PLAY, CHECK = 0, 1, 2, 3


def design_key(cycle: int, slot: int, attempt: int) -> Key:
    """Of one attempt at a design."""
    return (cycle, DESIGN, slot, attempt)


def hint_key(cycle: int, slot: int, attempt: int) -> Key:
    """Of the hint for that attempt's program."""
    return (cycle, HINT, slot, attempt)


def check_key(cycle: int, slot: int, attempt: int) -> Key:
    """Of the model check of that attempt's program."""
    return (cycle, CHECK, slot, attempt)


def play_key(cycle: int, place: int, arm: Arm, index: int) -> Key:
    """Of one episode; ``place`` is the environment's place in the pool."""
    return (cycle, PLAY, place, get_args(Arm).index(arm), index)
