"""Players who know nothing of the task and must not win: the no-op, the constant, the random ones.

Each gets the fewest plays that tell. They know early what they will say, so that as many of their plays as cannot yet
decide travel in one request: a request waits its turn among the plays of a whole cycle.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from functools import partial

from spadework.envs.check.findings import Finding
from spadework.envs.check.panel.bench import SEEDS, Bench, says_what_wins
from spadework.envs.check.players import guesses, scribbles
from spadework.envs.sandbox.base import Script


async def check(bench: Bench) -> list[Finding]:
    """Every one of these players in turn."""
    return [finding for one in (_noop, _nonsense, _constant, _random) for finding in await one(bench)]


async def _noop(bench: Bench) -> list[Finding]:
    for what, action in {"saying nothing": "", **bench.domain.checks.idle}.items():
        wins = await bench.wins("no-op", [(seed, [action] * bench.turns) for seed in bench.seeds])
        if any(wins):
            return [Finding("ENV402", f"{what} wins on seed {bench.seed(wins.index(True))}")]
    return []


async def _constant(bench: Bench) -> list[Finding]:
    common = [answer for answer, _ in Counter(bench.answers()).most_common(2)]
    return await _stubborn(bench, [*common, "1"])


async def _stubborn(bench: Bench, answers: Sequence[str]) -> list[Finding]:
    """A player who says one thing for ever must not win nearly every time."""
    players = {answer: partial(_same, bench.dialogue.encode(answer)) for answer in answers}
    winner = await says_what_wins(bench, "constant", players, bench.settings.max_constant_wins)
    return [] if winner is None else [Finding("ENV404", f"{winner!r:.60} wins on nearly every one of {SEEDS} seeds")]


def _same(action: str, opening: str) -> str:
    return action


async def _random(bench: Bench) -> list[Finding]:
    for kind in ("random words", "answers of other seeds"):
        if kind == "random words" or bench.solved:
            wins, plays = await _chance(bench, kind)
            if wins:
                return [Finding("ENV403", f"a player of {kind} wins {wins} of {plays} plays")]
    return []


async def _chance(bench: Bench, kind: str) -> tuple[int, int]:
    """Wins and plays of a random player; no wins where their share is small enough.

    A share that looks too large is looked at again with eight times the plays, and must then be so beyond two
    standard errors.
    """
    settings, wins, plays, share = bench.settings, 0, 0, bench.settings.max_random_wins
    for total, errors in ((settings.random_plays, 0), (8 * settings.random_plays, 2)):
        allowed = math.floor(total * share + errors * math.sqrt(total * share * (1 - share)) + 1e-9)
        while plays < total and (undecided := wins + total - plays - allowed) > 0:
            seeds = [bench.seed(plays + index) for index in range(min(undecided, total - plays))]
            wins += sum(await bench.wins("random", await _random_scripts(bench, kind, seeds)))
            plays += len(seeds)
        if wins <= allowed:
            return 0, plays
    return wins, plays


async def _random_scripts(bench: Bench, kind: str, seeds: Sequence[int]) -> list[Script]:
    rngs = [(seed, random.Random(f"{kind}/{seed}")) for seed in seeds]
    if kind != "random words":
        return [(seed, guesses(rng, bench.said_on(seed), bench.turns)) for seed, rng in rngs]
    openings = await bench.openings(seeds)
    return [(seed, scribbles(rng, openings[seed], bench.turns, bench.dialogue)) for seed, rng in rngs]


async def _nonsense(bench: Bench) -> list[Finding]:
    """Nonsense must win nowhere: a seed that pays it is a free win inside of an honest mean."""
    nonsense, seeds = "qzx", bench.seeds
    wins = await bench.wins("gibberish", [(seed, [bench.dialogue.encode(nonsense)] * bench.turns) for seed in seeds])
    won = [seed for seed, win in zip(seeds, wins, strict=True) if win]
    if not won:
        return []
    if len(won) == len(seeds):
        return await _stubborn(bench, [nonsense])
    return [Finding("ENV408", f"nonsense wins on seed {won[0]}, though not on every seed")]
