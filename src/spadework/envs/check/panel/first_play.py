"""Whether the first play of an instance differs from later ones: a run's plays are all first ones.

The panel plays hundreds of episodes in one instance, which saves time and hides a program that pays in the first
episode only, or that does what it was not seen to do yet. So what some players said is said again, each as the first
words to an instance of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from spadework.envs.check.findings import Finding
from spadework.envs.check.panel.bench import Bench
from spadework.envs.check.players import difference, first_number, recite
from spadework.envs.sandbox.base import Session

Open = Callable[[], Awaitable[Session]]

_SEEDS_FROM = 20
"""Index of the first seed that is played here; no other player plays it."""
_TURNS = 2
"""Turns that each takes: what differs in a first play does so at its first words or at the next ones."""


def _other_answer(bench: Bench, seed: int, opening: str) -> str:
    return next(iter(bench.answers()), "0")


_ANSWERS: tuple[Callable[[Bench, int, str], str], ...] = (
    lambda bench, seed, opening: first_number(opening) or "42",
    _other_answer,
)
"""What is said first to an instance: of the bench, the seed, and the first observation.

Each takes a process, which costs more than its play; the probe was first too, and said nothing and short numbers."""

PLAYS = len(_ANSWERS)
"""Instances that are opened."""


async def check(bench: Bench, open_session: Open) -> list[Finding]:
    """Compare a first play with a later one, for answers of several kinds."""
    seeds = [bench.seed(index) for index in range(_SEEDS_FROM, _SEEDS_FROM + len(_ANSWERS))]
    openings = await bench.openings(seeds)
    scripts = []
    for seed, answer_for in zip(seeds, _ANSWERS, strict=True):
        answer = answer_for(bench, seed, openings[seed])
        scripts.append((seed, [bench.dialogue.encode(answer)] * min(bench.turns, _TURNS)))
    later = await recite(bench.session, scripts)
    for script, worn in zip(scripts, later, strict=True):
        session = await open_session()
        try:
            (first,) = await recite(session, [script])
        finally:
            await session.close()
        bench.table.add("first", first)
        if first.transcript != worn.transcript:
            return [Finding("ENV305", f"seed {first.seed}: {difference(first, worn)}")]
    return []
