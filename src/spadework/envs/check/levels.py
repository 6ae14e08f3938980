"""Whether a program's levels are what they say: each can be won, they differ, and a higher one is no easier.

Without a model, difficulty is looked at through players who know little (one guesses, one says what the oracle said on
other seeds, one is the oracle with a fifth of its actions spoilt) and through the length of the task. A win rate that
rises is an error; when nothing at all grows, that is a warning. A model tells more: ``spadework play --levels``.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spadework.envs.check.findings import Finding
from spadework.envs.check.players import Play, guesses, oracle, recite, scribbles, solve
from spadework.envs.check.seeds import draw_seeds
from spadework.envs.domain import Domain
from spadework.envs.levels import Levels, at_level, levels
from spadework.envs.sandbox.base import Sandbox, Session
from spadework.errors import ProgramError
from spadework.intervals import welch_interval

if TYPE_CHECKING:
    from spadework.envs.check.runtime import RuntimeChecks

HIGHEST = 5
"""The level that is compared with level 0, where the program's own is not lower."""
PLAYS = 24
"""Plays of each player at each level."""
SLIPS = 0.2
"""Share of the oracle's actions that its clumsy twin spoils."""


@dataclass(slots=True)
class Seen:
    """What one level showed."""

    level: int
    solved: list[Play] = field(default_factory=list)
    wins: dict[str, list[float]] = field(default_factory=dict)
    """Player -> 1 or 0 for each of its plays."""

    @property
    def transcripts(self) -> list[tuple[object, ...]]:
        """All that the oracle's plays showed."""
        return [each.transcript for each in self.solved]

    @property
    def sizes(self) -> dict[str, float]:
        """What tends to grow with difficulty, by name."""
        actions = [each.actions for each in self.solved]
        texts = [len(each.opening) + sum(len(step.observation) for step in each.steps) for each in self.solved]
        return {
            "turns": float(sum(map(len, actions))),
            "characters of text": float(sum(texts)),
            "characters of answers": float(sum(len(action) for own in actions for action in own)),
            "distinct answers": float(len({action for own in actions for action in own})),
        }


async def check(sandbox: Sandbox, source: str, domain: Domain, settings: RuntimeChecks) -> list[Finding]:
    """Play level 0, the middle and the highest; nothing for a program without levels. Raises ``SandboxError``."""
    own = levels(source)
    if own is None:
        return []
    seeds = draw_seeds(settings.seeds + PLAYS)
    seen = []
    for level in tried_levels(own):
        try:
            async with AsyncExitStack() as stack:
                pair = await _pair(stack, sandbox, at_level(source, level), settings)
                one = await _look(pair, level, seeds, domain, settings)
        except ProgramError as error:
            if error.fault.code == "ENV204":
                return []  # no solution(): nothing tells what a level asks for
            return [Finding("ENV701", f"level {level}: {error}")]
        lost = sum(not each.win for each in one.solved)
        if lost:
            return [Finding("ENV701", f"level {level}: solution() loses on {lost} of {len(one.solved)} seeds")]
        seen.append(one)
    return _compare(seen[0], seen[-1]) if len(seen) > 1 else []


def tried_levels(own: Levels) -> list[int]:
    """Level 0, the middle and the highest of those that a program has."""
    top = HIGHEST if own.top is None else min(own.top, HIGHEST)
    return sorted({0, top // 2, top})


async def _pair(
    stack: AsyncExitStack, sandbox: Sandbox, source: str, settings: RuntimeChecks
) -> tuple[Session, Session]:
    """An instance to play, and one that lends the oracle its ``solution()``."""
    pair = []
    for _ in range(2):
        pair.append(await sandbox.open(source, settings.limits))
        stack.push_async_callback(pair[-1].close)
    return pair[0], pair[1]


async def _look(
    pair: tuple[Session, Session], level: int, seeds: Sequence[int], domain: Domain, settings: RuntimeChecks
) -> Seen:
    session, shadow = pair
    turns = min(session.max_turns, settings.limits.max_turns)
    seen = Seen(level)
    seen.solved += await solve(session, shadow, seeds[: settings.seeds], domain, turns)
    answers = [action for each in seen.solved for action in each.actions]
    rngs = [(seed, random.Random(number)) for number, seed in enumerate(seeds[settings.seeds :])]
    openings = [each.opening for each in await recite(session, [(seed, ()) for seed, _ in rngs])]
    players = {
        "random": [
            (seed, scribbles(rng, opening, turns, domain.dialogue))
            for (seed, rng), opening in zip(rngs, openings, strict=True)
        ],
        "guessing": [(seed, guesses(rng, answers, turns)) for seed, rng in rngs],
    }
    for name, scripts in players.items():
        seen.wins[name] = [float(each.win) for each in await recite(session, scripts)]
    seen.wins["clumsy"] = [
        await _won(oracle(session, shadow, seed, domain, turns, _clumsy(rng, answers))) for seed, rng in rngs
    ]
    return seen


def _clumsy(rng: random.Random, answers: Sequence[str]) -> Callable[[str], str]:
    return lambda action: rng.choice(answers) if rng.random() < SLIPS else action


async def _won(played: Awaitable[Play]) -> float:
    try:
        return float((await played).win)
    except ProgramError as error:
        if error.fault.code == "ENV407":
            return 0.0  # lost beyond help: solution() has nothing more to say
        raise


def _compare(low: Seen, high: Seen) -> list[Finding]:
    if low.transcripts == high.transcripts:
        return [Finding("ENV702", f"levels {low.level} and {high.level} give the same tasks")]
    harder = any(high.sizes[name] > size for name, size in low.sizes.items())
    for name, wins in low.wins.items():
        rise = welch_interval(high.wins[name], wins)
        if rise.low > 0:
            rates = f"{sum(wins) / PLAYS:.0%} of level {low.level} and {sum(high.wins[name]) / PLAYS:.0%}"
            return [Finding("ENV703", f"the {name} player wins {rates} of level {high.level}")]
        harder |= rise.high < 0
    if not harder:
        return [Finding("ENV704", f"levels {low.level} and {high.level} look alike in length, answers and wins")]
    return []
