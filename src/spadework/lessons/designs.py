"""Designs to imitate: a document and a skill, with the program and the hint to write for them.

They are badly aimed on purpose, so that the designer has something to learn in self-play: most are too easy, hopeless
or too long, and some have a flaw that validation finds. An example in the prompt moves the aim a little: a good one
towards its own size, and one that is too easy or too hard away from it.
"""

from __future__ import annotations

import dataclasses
import random
from dataclasses import dataclass
from typing import get_args

from spadework.lessons.documents import MANNERS, NOUNS, draw_document
from spadework.lessons.families import FAMILIES, SKILLS, Family, family_of
from spadework.lessons.programs import Flaw, Knobs, write_program
from spadework.selfplay.records import Example, Label
from spadework.types import Document

EXAMPLES = 0.25
"""Share of the designs whose prompt shows an example."""
FOLLOWED = 0.5
"""Share of those designs whose size follows the example."""
STRAY = 0.1
"""Share of the designs whose manner is drawn anew instead of taken from the document."""
FREE = 0.05
"""Share of the designs without a document."""
FLAWED = 0.2
"""Share of the designs that validation rejects."""


@dataclass(frozen=True, slots=True)
class TaughtDesign:
    """One design to imitate; ``document`` is ``None`` where the prompt has none."""

    skill: str
    document: Document | None
    example: Example | None
    source: str
    hint: str


def draw_design(rng: random.Random) -> TaughtDesign:
    """Draw a design for a random document and skill."""
    skill = rng.choice(SKILLS)
    document = draw_document(rng) if rng.random() >= FREE else None
    manner = document.meta["manner"] if document is not None and rng.random() >= STRAY else rng.choice(MANNERS)
    family = family_of(skill, manner)
    title, noun = (document.title, document.meta["noun"]) if document is not None else (skill, rng.choice(NOUNS))
    example, knobs = None, draw_knobs(rng, family)
    if rng.random() < EXAMPLES:
        example, knobs = _with_example(rng, family, knobs)
    source = write_program(family, dataclasses.replace(knobs, flaw=_flaw(rng, family)), title, noun)
    return TaughtDesign(skill, document, example, source, family.hint)


def draw_knobs(rng: random.Random, family: Family) -> Knobs:
    """Draw the size of a design: too easy, hopeless because the start is not shown, too long, or in between."""
    kind = rng.random()
    shown = True
    if kind < 0.35:
        size = rng.randint(1, 2)
    elif kind < 0.60:
        size, shown = rng.randint(1, 12), False
    elif kind < 0.80:
        size = rng.randint(12, 16)
    else:
        size = rng.randint(3, 11)
    return _sized(rng, family, size, shown)


def _sized(rng: random.Random, family: Family, size: int, shown: bool) -> Knobs:
    """Knobs of ``size`` marks in all; several turns have equally many, rounded up."""
    steps = rng.randint(1, 3) if family.multi_turn else 1
    return Knobs(
        length=-(-size // steps), steps=steps, tries=rng.choice((1, 1, 1, 2, 3)), top=rng.randint(5, 9), shown=shown
    )


def _flaw(rng: random.Random, family: Family) -> Flaw:
    """Draw a flaw, mostly none."""
    # With several turns, telling the answer of the first one does not give the game away, so it is no flaw.
    flaws: tuple[Flaw, ...] = ("frozen",) if family.multi_turn else ("frozen", "told")
    return rng.choice(flaws) if rng.random() < FLAWED else ""


def _with_example(rng: random.Random, family: Family, knobs: Knobs) -> tuple[Example, Knobs]:
    """An example of the skill, and the knobs of a design that may heed it."""
    label: Label = rng.choice(get_args(Label))
    other = rng.choice([each for each in FAMILIES if each.skill == family.skill])
    size = {"good": rng.randint(2, 12), "too easy": rng.randint(1, 3), "too hard": rng.randint(6, 16)}[label]
    shown = label != "too hard" or rng.random() < 0.5
    document = draw_document(rng)
    source = write_program(other, _sized(rng, other, size, shown), document.title, document.meta["noun"])
    if rng.random() < FOLLOWED:
        wanted = {"good": size + rng.randint(-1, 1), "too easy": size + rng.randint(1, 4), "too hard": size // 2}[label]
        knobs = _sized(rng, family, max(1, wanted), True)
    return Example("taught", source, label), knobs
