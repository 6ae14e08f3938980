"""Players who must not win: the no-op, the constant, the random and the copying ones.

Each gets the fewest plays that tell. They know early what they will say, so that as many of their plays as cannot yet
decide travel in one request: a request waits its turn among the plays of a whole cycle.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from spadework.envs.check.findings import Finding
from spadework.envs.check.leaks import marked
from spadework.envs.check.players import COPIERS, Play, guesses, recite, scribbles
from spadework.envs.domain import Dialogue, Domain
from spadework.envs.sandbox.base import Script, Session

if TYPE_CHECKING:
    from spadework.envs.check.runtime import RuntimeChecks


_SEEDS = 12
"""Seeds over which a player must win before luck is ruled out."""
_CHARACTERS = 5_000_000
"""Characters of observations that one request may give: no more plays are asked for at once than can stay below."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """Figures over every play of one check."""

    plays: int = 0
    win_rates: dict[str, float] = field(default_factory=dict)
    """Player -> share of its plays that won."""
    reward_levels: tuple[float, ...] = ()
    """Distinct rewards of single steps, rounded to three digits."""
    partial_rewards: bool = False
    """Whether some reward lay strictly between 0 and 1."""
    oracle_turns: float = math.nan
    opening_characters: float = math.nan
    observation_characters: float = math.nan
    distinct_openings: int = 0
    wins_by_seed: dict[int, float] = field(default_factory=dict)
    """Seed -> share of the panel's plays of it that won, the oracle's left out: the spread of the difficulty."""
    false_rejects: float = math.nan
    """Share of equivalent variants of the oracle's answer that did not win; NaN without any."""
    false_accepts: float = math.nan
    """Share of near misses that won; NaN without any."""


@dataclass(frozen=True, slots=True)
class _Figures:
    """What is kept of one play. Its observations are not: a program may fill a hundred thousand characters a turn."""

    player: str
    seed: int
    win: bool
    rewards: tuple[float, ...]
    """Of each step."""
    characters: tuple[int, ...]
    """Of the first observation and of each step's."""
    goes_on: bool
    """Whether a second action could be taken, and was."""


class Table:
    """Collects figures of plays, and grades; ``statistics()`` sums them up."""

    def __init__(self) -> None:
        self.openings: dict[int, str] = {}
        """Seed -> its first observation."""
        self.rejected: list[bool] = []
        self.accepted: list[bool] = []
        self._plays: list[_Figures] = []
        self._distinct: set[int] = set()

    def add(self, player: str, play: Play) -> None:
        """Note that ``player`` played ``play``."""
        self.openings[play.seed] = play.opening
        self._distinct.add(hash(play.opening))
        rewards = tuple(step.reward for step in play.steps)
        characters = (len(play.opening), *(len(step.observation) for step in play.steps))
        goes_on = len(play.steps) > 1 and not play.steps[0].done
        self._plays.append(_Figures(player, play.seed, play.win, rewards, characters, goes_on))

    @property
    def goes_on(self) -> bool:
        """Whether some play took a second action."""
        return any(each.goes_on for each in self._plays)

    @property
    def largest(self) -> int:
        """Characters of the longest observation of all plays."""
        return max((max(each.characters) for each in self._plays), default=0)

    def statistics(self) -> Statistics:
        """The figures so far."""
        plays = self._plays
        players = list(dict.fromkeys(each.player for each in plays))
        rewards = {round(reward, 3) for each in plays for reward in each.rewards}
        panel = [each for each in plays if each.player not in ("oracle", "probe", "variant")]
        return Statistics(
            plays=len(plays),
            win_rates={name: _mean([each.win for each in plays if each.player == name]) for name in players},
            reward_levels=tuple(sorted(rewards)),
            partial_rewards=any(0 < reward < 1 for reward in rewards),
            oracle_turns=_mean([len(each.rewards) for each in plays if each.player == "oracle"]),
            opening_characters=_mean([each.characters[0] for each in plays]),
            observation_characters=_mean([count for each in plays for count in each.characters[1:]]),
            distinct_openings=len(self._distinct),
            wins_by_seed={
                seed: _mean([each.win for each in panel if each.seed == seed])
                for seed in sorted({each.seed for each in panel})
            },
            false_rejects=_mean(self.rejected),
            false_accepts=_mean(self.accepted),
        )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan


@dataclass(frozen=True, slots=True)
class Bench:
    """Where the panel plays: one instance, reset for every play."""

    session: Session
    domain: Domain
    settings: RuntimeChecks
    turns: int
    table: Table
    solved: Sequence[Play]

    @property
    def dialogue(self) -> Dialogue:
        """How answers become actions in the program's domain."""
        return self.domain.dialogue

    async def wins(self, name: str, scripts: Sequence[Script]) -> list[bool]:
        """Play ``scripts``, note it in the table, and tell which of them win."""
        won: list[bool] = []
        while len(won) < len(scripts):
            at_once = max(1, _CHARACTERS // (self.turns * max(self.table.largest, 1)))
            plays = await recite(self.session, scripts[len(won) : len(won) + at_once])
            for each in plays:
                self.table.add(name, each)
                won.append(each.win)
        return won

    async def openings(self, seeds: Sequence[int]) -> dict[int, str]:
        """The first observation on each of ``seeds``; those of plays in the table are known."""
        known = self.table.openings
        unknown = await recite(self.session, [(seed, ()) for seed in seeds if seed not in known])
        return known | {each.seed: each.opening for each in unknown}

    def answers(self) -> list[str]:
        """The oracle's last answer on each seed that it won; calls of tools are none."""
        found = (self.dialogue.decode(each.actions[-1]) for each in self.solved if each.win)
        return [answer for answer in found if answer]

    def seed(self, index: int) -> int:
        """The seeds of the settings, and then others."""
        seeds = self.settings.seeds
        return seeds[index] if index < len(seeds) else max(seeds) + 1 + index - len(seeds)

    def said_on(self, seed: int) -> list[str]:
        """What the oracle said on the other seeds, for a player who does not know this one."""
        own = {action for each in self.solved if each.seed == seed for action in each.actions}
        said = [action for each in self.solved if each.seed != seed for action in each.actions]
        return said or sorted(own)


async def check(bench: Bench) -> list[Finding]:
    """Every player of the panel in turn."""
    return [
        finding for one in (_noop, _constant, _gibberish, _random, _copied, _feedback) for finding in await one(bench)
    ]


async def _noop(bench: Bench) -> list[Finding]:
    for what, action in {"saying nothing": "", **bench.domain.checks.idle}.items():
        wins = await bench.wins("no-op", [(seed, [action] * bench.turns) for seed in bench.settings.seeds])
        if any(wins):
            return [Finding("ENV402", f"{what} wins on seed {bench.seed(wins.index(True))}")]
    return []


async def _constant(bench: Bench) -> list[Finding]:
    common = [answer for answer, _ in Counter(bench.answers()).most_common(2)]
    for answer in dict.fromkeys([*common, "qzx", "1"]):
        stubborn = partial(_say, bench, "constant", partial(_same, bench.dialogue.encode(answer)))
        if await _wins_often(bench, stubborn, bench.settings.max_constant_wins):
            return [Finding("ENV404", f"{answer!r:.60} wins on nearly every one of {_SEEDS} seeds")]
    return []


async def _wins_often(bench: Bench, player: Callable[[list[int]], Awaitable[list[bool]]], share: float) -> bool:
    """Whether a player, who tells which seeds it wins, wins at least ``share``; stops as soon as that is decided."""
    seeds, may_lose = [bench.seed(index) for index in range(_SEEDS)], math.floor(_SEEDS * (1 - share) + 1e-9)
    while seeds and may_lose >= 0:
        now, seeds = seeds[: may_lose + 1], seeds[may_lose + 1 :]  # fewer cannot decide
        may_lose -= (await player(now)).count(False)
    return may_lose >= 0


async def _say(bench: Bench, name: str, action_for: Callable[[str], str], seeds: list[int]) -> list[bool]:
    """Which seeds are won by what is taken out of the opening once and said for ever."""
    openings = await bench.openings(seeds)
    return await bench.wins(name, [(seed, [action_for(openings[seed])] * bench.turns) for seed in seeds])


async def _random(bench: Bench) -> list[Finding]:
    for kind in ("random words", "answers of other seeds"):
        if kind == "random words" or bench.solved:
            wins, plays = await _chance(bench, kind)
            if wins:
                return [Finding("ENV403", f"a player of {kind} wins {wins} of {plays} plays")]
    return []


async def _chance(bench: Bench, kind: str) -> tuple[int, int]:
    """Wins and plays of a random player; no wins where their share is small enough.

    A share that looks too large is looked at again with five times the plays, and must then be so beyond a standard
    error.
    """
    settings, wins, plays, share = bench.settings, 0, 0, bench.settings.max_random_wins
    for total, errors in ((settings.random_plays, 0), (5 * settings.random_plays, 1)):
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


async def _gibberish(bench: Bench) -> list[Finding]:
    """Nonsense must win nowhere: a seed that pays it is a free win inside of an honest mean."""
    nonsense, seeds = bench.dialogue.encode("qzx"), bench.settings.seeds
    wins = await bench.wins("gibberish", [(seed, [nonsense] * bench.turns) for seed in seeds])
    won = [seed for seed, win in zip(seeds, wins, strict=True) if win]
    if not won or len(won) == len(seeds):
        return []
    return [Finding("ENV408", f"nonsense wins on seed {won[0]}, though not on every seed")]


async def _copied(bench: Bench) -> list[Finding]:
    """Answers marked as such in the first observation, or won by copying its last number, word or quotation."""
    plays = [(each, answer) for each in bench.solved if (answer := bench.dialogue.decode(each.actions[-1]))]
    shown = [answer for each, answer in plays if marked(each.opening, answer)]
    if plays and len(shown) >= bench.settings.min_copied_wins * len(plays):
        return [Finding("ENV501", f"the first observation marks {shown[0]!r:.60} as the answer")]
    for copier in COPIERS:
        copying = partial(_say, bench, "copier", partial(_copied_by, copier, bench))
        if await _wins_often(bench, copying, bench.settings.min_copied_wins):
            return [Finding("ENV501", f"repeating the {copier.__name__.replace('_', ' ')} of what is shown wins")]
    return []


def _same(action: str, opening: str) -> str:
    return action


def _copied_by(copier: Callable[[str], str | None], bench: Bench, text: str) -> str:
    return bench.dialogue.encode(copier(text) or "-")


async def _feedback(bench: Bench) -> list[Finding]:
    """Errs once, copies out of the feedback and stays with it."""
    if not bench.table.goes_on:
        return []
    told = await _told(bench, [bench.seed(0), bench.seed(1)])
    tried: list[list[str | None]] = []
    for copier in COPIERS:
        copies = [copier(feedback) for _, feedback in told.values()]
        if not any(copies) or copies in tried:
            continue  # it finds nothing, or the same as another
        tried.append(copies)
        if await _wins_often(bench, partial(_err, bench, copier, told), bench.settings.min_copied_wins):
            what = copier.__name__.replace("_", " ")
            return [Finding("ENV502", f"erring once and repeating the {what} of the feedback wins")]
    return []


async def _err(
    bench: Bench, copier: Callable[[str], str | None], told: dict[int, tuple[str, str]], seeds: list[int]
) -> list[bool]:
    """Which seeds are won so; ``told`` holds what ``_told`` gave before, and gets what it gives of other seeds."""
    told |= await _told(bench, [seed for seed in seeds if seed not in told])
    copies = {seed: _copied_by(copier, bench, told[seed][1]) for seed in seeds}
    scripts = [(seed, [told[seed][0], *[copies[seed]] * (bench.turns - 1)]) for seed in seeds]
    return await bench.wins("feedback", scripts)


async def _told(bench: Bench, seeds: Sequence[int]) -> dict[int, tuple[str, str]]:
    """A wrong answer on each of ``seeds``, and the feedback on it."""
    wrong = {seed: (bench.said_on(seed) or [bench.dialogue.encode("-")])[0] for seed in seeds}
    plays = await recite(bench.session, [(seed, [action]) for seed, action in wrong.items()])
    return {each.seed: (wrong[each.seed], each.steps[0].observation) for each in plays}
