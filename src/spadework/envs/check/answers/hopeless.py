"""Tasks that nothing tells apart: what a player is shown is alike, and the winning answers differ.

A hidden state is no fault, as long as feedback reveals it. So two seeds with the same first observation are played
with the same actions, and only when nothing before the last step differs is the task held to be hopeless: a player
can then win one of them by luck or by being told.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

from spadework.envs.check.findings import Finding
from spadework.envs.check.panel.bench import Bench
from spadework.envs.check.players import Play, guesses, recite, scribbles, solve
from spadework.errors import ProgramError

_SEARCHED = 24
"""Seeds among whose first observations two that are alike are looked for."""
_PAIRS = 3
"""Pairs of seeds that are looked at."""
_GUESSERS = 4
"""Players of each kind, besides the ones who say one thing."""


async def check(bench: Bench) -> list[Finding]:
    """An error as soon as two seeds show the same and are won by different answers."""
    for one, other in await _twins(bench):
        crossed = [(other.seed, one.actions), (one.seed, other.actions)]
        if one.actions == other.actions or any(await bench.wins("twin", crossed)):
            continue
        if await _alike(bench, one, other):
            told = f"seeds {one.seed} and {other.seed} show the same, whatever is said before the last step"
            return [
                Finding("ENV409", f"{told}; {_last(bench, one)!r:.40} wins one, {_last(bench, other)!r:.40} the other")
            ]
    return []


async def _twins(bench: Bench) -> list[tuple[Play, Play]]:
    """Pairs of the oracle's winning plays on seeds with one and the same first observation."""
    if bench.shadow is None or not bench.solved or (bench.session.tools and not _calls(bench)):
        return []
    openings = await bench.openings([bench.seed(index) for index in range(_SEARCHED)])
    groups: dict[str, list[int]] = defaultdict(list)
    for seed, opening in openings.items():
        groups[opening].append(seed)
    pairs = [pair for seeds in groups.values() for pair in combinations(seeds[:_PAIRS], 2)][:_PAIRS]
    known = {each.seed: each for each in bench.solved}
    for seed in {seed for pair in pairs for seed in pair} - set(known):
        try:
            (known[seed],) = await solve(bench.session, bench.shadow, [seed], bench.domain, bench.turns)
        except ProgramError as error:
            if error.fault.code != "ENV407":
                raise
    return [
        (known[one], known[other])
        for one, other in pairs
        if one in known and other in known and known[one].win and known[other].win
    ]


async def _alike(bench: Bench, one: Play, other: Play) -> bool:
    """Whether every player is shown the same on both seeds until one of the two plays ends."""
    (_, crossed), (crossed_back, _) = winners = await _side_by_side(bench, one, other, [one.actions, other.actions])
    # What one winner says is feedback on the other's seed: "higher" here and "lower" there tell the two apart.
    if _told_apart([*winners, (crossed, crossed_back)]):
        return False  # mostly so, which spares the many plays below
    return not _told_apart(await _side_by_side(bench, one, other, _said(bench, one, other)))


async def _side_by_side(bench: Bench, one: Play, other: Play, said: Sequence[Sequence[str]]) -> list[tuple[Play, Play]]:
    """For each list of actions, how it is played on both seeds."""
    plays = await recite(bench.session, [(seed, actions) for actions in said for seed in (one.seed, other.seed)])
    return list(zip(plays[::2], plays[1::2], strict=True))


def _told_apart(pairs: Sequence[tuple[Play, Play]]) -> bool:
    return any(
        left != right for first, second in pairs for left, right in zip(_shown(first), _shown(second), strict=False)
    )


def _shown(play: Play) -> list[str]:
    """What is shown while the player can still act on it."""
    return [step.observation for step in play.steps if not step.done]


def _said(bench: Bench, one: Play, other: Play) -> list[Sequence[str]]:
    """What is said on both seeds besides what wins them: constants, answers of other seeds, and words shown."""
    answers = ("", "1", "50", "qzx")
    elsewhere = [action for each in bench.solved if each.seed not in (one.seed, other.seed) for action in each.actions]
    said: list[Sequence[str]] = [[answer and bench.dialogue.encode(answer)] * bench.turns for answer in answers]
    for index in range(_GUESSERS):
        said.append(scribbles(random.Random(f"scribbles/{index}"), one.opening, bench.turns, bench.dialogue))
        if elsewhere:
            said.append(guesses(random.Random(f"guesses/{index}"), elsewhere, bench.turns))
    return said


def _calls(bench: Bench) -> bool:
    """Whether the oracle calls tools; one that only names the answer does not show what could be looked up."""
    return any(bench.dialogue.decode(action) is None for each in bench.solved for action in each.actions)


def _last(bench: Bench, play: Play) -> str:
    return bench.dialogue.decode(play.actions[-1]) or play.actions[-1]
