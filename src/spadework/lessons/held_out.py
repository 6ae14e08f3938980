"""Held-out word games: fixed programs with words that no lesson used, of families that were taught and of others.

They are what a run's progress is read on. Their words and hints are fixed and their seeds are those of the evaluation,
so the arms, the checkpoints and the runs are compared on the same games.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from spadework.lessons.words import WORDS_OF_A_PROGRAM, WordFamily, word_environment, write_program
from spadework.types import Environment

WORDS = """
anchor banjo basil cactus candle domino dragon ember falcon fiddle garlic goblin hammer island jungle kimono lantern
mango needle orchid parrot quartz ribbon saddle temple urchin violin walnut yogurt zipper
""".split()
"""Words that the bundled documents do not use."""
TAUGHT_STEPS = (3, 5)
"""Steps of the games of taught families; a game of each."""
OTHER_STEPS = (4,)
"""Of the families that were never taught."""
TAUGHT, OTHER = "taught families", "other families"
"""The two groups of the games."""


def held_out_games(families: Sequence[WordFamily], seed: int = 77) -> list[tuple[Environment, str]]:
    """The games with their groups, in a fixed order; ``seed`` draws the words of each."""
    games = []
    for group, taught, sizes in ((TAUGHT, True, TAUGHT_STEPS), (OTHER, False, OTHER_STEPS)):
        for family in families:
            if family.taught is not taught:
                continue
            for steps in sizes:
                rng = random.Random(f"{seed}/{family.name}/{steps}")
                words = rng.sample(WORDS, WORDS_OF_A_PROGRAM)
                source = write_program(family, words, family.sizes(rng, steps), f"held out {family.name}")
                games.append((word_environment(family, source, f"held-out/{family.name}-{steps}"), group))
    return games


def lent_hints(games: Sequence[tuple[Environment, str]], families: Sequence[WordFamily]) -> dict[str, str]:
    """Game id -> the hint of another taught family: what a hint adds that does not fit the game."""
    hints = [family.hint for family in families if family.taught]
    lent = {}
    for place, (game, _) in enumerate(games):
        others = [hint for hint in hints if hint != game.hint]
        lent[game.id] = others[place % len(others)]
    return lent
