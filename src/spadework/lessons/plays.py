"""Plays to imitate: what a task shows, and replies with or without written-out work.

Work is one step for each mark: its label, the mark, and the state after it. The lessons show it nearly always after a
hint and seldom without one. What is left for self-play to learn is to write it unasked.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from spadework.lessons.documents import NOUNS
from spadework.lessons.families import FAMILIES, Family
from spadework.lessons.programs import Knobs

HINTED = 0.5
"""Share of the plays with a hint."""
PLACEBO = 0.1
"""Share of those plays whose hint is of another family; no work follows such a hint."""
SHORT = 0.6
"""Share of the plays without a hint that have one or two marks a turn, so that such tasks are easy from the start."""
SHORT_WORK = {1: 0.5, 2: 0.85}
"""Share of those plays that write their work, by marks: so small a model often fails to apply two marks at once."""
UNASKED = 0.15
"""Share of the other plays without a hint that write their work all the same."""
RETRIED = 0.08
"""Share of the plays that begin with a wrong answer, which is in the row but not taught."""
LONGEST = 12
"""The most marks a turn; longer tasks are left to self-play."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What the task shows, and what to reply."""

    observation: str
    reply: str
    taught: bool = True


@dataclass(frozen=True, slots=True)
class TaughtPlay:
    """One episode to imitate."""

    hint: str
    exchanges: tuple[Exchange, ...]


def draw_play(rng: random.Random) -> TaughtPlay:
    """Draw a play of a random task."""
    family = rng.choice(FAMILIES)
    hinted = rng.random() < HINTED
    short = not hinted and rng.random() < SHORT
    knobs = _knobs(rng, family, short)
    shown = family if rng.random() >= PLACEBO else rng.choice([other for other in FAMILIES if other is not family])
    work = shown is family if hinted else rng.random() < (SHORT_WORK[knobs.length] if short else UNASKED)
    return TaughtPlay(shown.hint if hinted else "", tuple(_exchanges(rng, family, knobs, work)))


def _knobs(rng: random.Random, family: Family, short: bool) -> Knobs:
    length = rng.randint(1, 2) if short else min(LONGEST, 1 + int(rng.expovariate(0.22)))
    steps = rng.randint(1, 1 + (length < 8) + (length < 5)) if family.multi_turn else 1
    return Knobs(length=length, steps=steps, top=rng.randint(5, 9))


def _exchanges(rng: random.Random, family: Family, knobs: Knobs, work: bool) -> list[Exchange]:
    machine = family.begin(rng, knobs.top)
    said = f"{rng.choice(NOUNS)} {family.name} {machine.shown}: "
    exchanges: list[Exchange] = []
    for _ in range(knobs.steps):
        run = list(machine.run(knobs.length))
        said += tell(run)
        if not exchanges and rng.random() < RETRIED:
            wrong = family.begin(rng, knobs.top)
            exchanges.append(Exchange(said, reply(list(wrong.run(knobs.length)), work), taught=False))
            said = "no"
        exchanges.append(Exchange(said, reply(run, work)))
        said = ""
    return exchanges


def tell(run: Sequence[tuple[str, str]]) -> str:
    """The marks as a program shows them."""
    return "".join(f"{_label(place)}{mark}" for place, (mark, _) in enumerate(run))


def reply(run: Sequence[tuple[str, str]], work: bool) -> str:
    """The answer; with ``work``, after the written-out steps."""
    steps = "".join(f"{_label(place)}{mark}{state}" for place, (mark, state) in enumerate(run))
    return f"{steps + ' ' if work else ''}\\boxed{{{run[-1][1]}}}"


def _label(place: int) -> str:
    return chr(65 + place)
