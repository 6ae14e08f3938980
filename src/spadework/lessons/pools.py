"""Hand-set pools: solvable environments of every family over a range of sizes, to train on and to measure with."""

from __future__ import annotations

import random
from collections.abc import Sequence

from spadework.domains.games import GAMES
from spadework.lessons.documents import draw_document
from spadework.lessons.families import FAMILIES
from spadework.lessons.programs import Knobs, write_program
from spadework.selfplay.design.examples import environment_id
from spadework.types import Environment


def hand_set_pool(lengths: Sequence[int], *, each: int = 1, seed: int = 0) -> list[Environment]:
    """``each`` environments of every family and length (marks a turn).

    Families of several turns get two; a reply to one wrong answer is allowed nowhere. Texts are drawn from ``seed``.
    """
    rng = random.Random(seed)
    pool = []
    for family in FAMILIES:
        for length in lengths:
            for _ in range(each):
                document = draw_document(rng)
                knobs = Knobs(length=length, steps=2 if family.multi_turn else 1)
                source = write_program(family, knobs, document.title, document.meta["noun"])
                pool.append(
                    Environment(
                        id=environment_id(source),
                        source=source,
                        hint=family.hint,
                        skill=family.skill,
                        domain=GAMES.name,
                        document_id=document.id,
                        cycle=0,
                        designer_version=0,
                    )
                )
    return list({environment.id: environment for environment in pool}.values())
