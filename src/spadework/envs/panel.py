"""Players who must not win: the no-op, the constant, the random and the copying ones.

Each gets the fewest plays that tell.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from spadework.envs.findings import Finding
from spadework.envs.leaks import marked
from spadework.envs.players import COPIERS, Play, Player, Script, decode, encode, guesser, play, scribbler, script
from spadework.envs.sandbox import Session

if TYPE_CHECKING:
    from spadework.envs.runtime_check import RuntimeChecks


_SEEDS = 12
"""Seeds over which a player must win before luck is ruled out."""


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


class Table:
    """Collects plays and grades; ``statistics()`` sums them up."""

    def __init__(self) -> None:
        self.plays: list[tuple[str, Play]] = []
        self.rejected: list[bool] = []
        self.accepted: list[bool] = []

    def add(self, player: str, play: Play) -> None:
        """Note that ``player`` played ``play``."""
        self.plays.append((player, play))

    def statistics(self) -> Statistics:
        """The figures so far."""
        players = list(dict.fromkeys(name for name, _ in self.plays))
        steps = [step for _, each in self.plays for step in each.steps]
        rewards = {round(step.reward, 3) for step in steps}
        panel = [each for name, each in self.plays if name not in ("oracle", "probe", "variant")]
        return Statistics(
            plays=len(self.plays),
            win_rates={name: _mean([each.win for who, each in self.plays if who == name]) for name in players},
            reward_levels=tuple(sorted(rewards)),
            partial_rewards=any(0 < reward < 1 for reward in rewards),
            oracle_turns=_mean([len(each.steps) for name, each in self.plays if name == "oracle"]),
            opening_characters=_mean([len(each.opening) for _, each in self.plays]),
            observation_characters=_mean([len(step.observation) for step in steps]),
            distinct_openings=len({each.opening for _, each in self.plays}),
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
    settings: RuntimeChecks
    turns: int
    table: Table
    solved: Sequence[Play]

    async def play(self, name: str, seed: int, player: Player | Script, turns: int | None = None) -> Play:
        """Play and note it in the table."""
        each = await play(self.session, seed, player, min(turns or self.turns, self.turns))
        self.table.add(name, each)
        return each

    def answers(self) -> list[str]:
        """The oracle's last answer on each seed that it won; calls of tools are none."""
        found = (decode(each.actions[-1], self.settings.domain) for each in self.solved if each.win)
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
    idle = [("saying nothing", script([""]))]
    if bench.settings.domain == "tool_use":
        idle.append(("answering at once", script([encode("done", "tool_use")])))
    for what, player in idle:
        for seed in bench.settings.seeds:
            if (await bench.play("no-op", seed, player)).win:
                return [Finding("ENV402", f"{what} wins on seed {seed}")]
    return []


async def _constant(bench: Bench) -> list[Finding]:
    domain = bench.settings.domain
    common = [answer for answer, _ in Counter(bench.answers()).most_common(2)]
    for answer in dict.fromkeys([*common, "qzx", "1"]):
        stubborn = partial(_always, script([encode(answer, domain)]))
        if await _wins_often(bench, "constant", stubborn, bench.settings.max_constant_wins):
            return [Finding("ENV404", f"{answer!r:.60} wins on nearly every one of {_SEEDS} seeds")]
    return []


async def _wins_often(bench: Bench, name: str, player_for: Callable[[int], Player | Script], share: float) -> bool:
    """Whether a player wins at least ``share`` of the seeds; stops as soon as that is decided."""
    may_lose = math.floor(_SEEDS * (1 - share) + 1e-9)
    for seed in map(bench.seed, range(_SEEDS)):
        if not (await bench.play(name, seed, player_for(seed))).win:
            may_lose -= 1
            if may_lose < 0:
                return False
    return True


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
        while plays < total:
            if wins + total - plays <= allowed:
                return 0, plays
            seed = bench.seed(plays)
            rng = random.Random(f"{kind}/{seed}")
            words = kind == "random words"
            player = scribbler(rng, settings.domain) if words else guesser(rng, bench.said_on(seed))
            wins += (await bench.play("random", seed, player)).win
            plays += 1
        if wins <= allowed:
            return 0, plays
    return wins, plays


async def _gibberish(bench: Bench) -> list[Finding]:
    """Nonsense must win nowhere: a seed that pays it is a free win inside of an honest mean."""
    player, seeds = script([encode("qzx", bench.settings.domain)]), bench.settings.seeds
    won = [seed for seed in seeds if (await bench.play("gibberish", seed, player)).win]
    if not won or len(won) == len(seeds):
        return []
    return [Finding("ENV408", f"nonsense wins on seed {won[0]}, though not on every seed")]


async def _copied(bench: Bench) -> list[Finding]:
    """Answers marked as such in the first observation, or won by copying its last number, word or quotation."""
    plays = [(each, answer) for each in bench.solved if (answer := decode(each.actions[-1], bench.settings.domain))]
    shown = [answer for each, answer in plays if marked(each.opening, answer)]
    if plays and len(shown) >= bench.settings.min_copied_wins * len(plays):
        return [Finding("ENV501", f"the first observation marks {shown[0]!r:.60} as the answer")]
    for copier in COPIERS:
        if await _wins_often(bench, "copier", partial(_copying, copier, bench), _share(bench)):
            return [Finding("ENV501", f"repeating the {copier.__name__.replace('_', ' ')} of what is shown wins")]
    return []


def _share(bench: Bench) -> float:
    return bench.settings.min_copied_wins


def _always(player: Script, seed: int) -> Script:
    return player


def _copying(copier: Callable[[str], str | None], bench: Bench, seed: int) -> Script:
    """Copies once out of the first observation and stays with it."""
    return Script(lambda opening, turns: [encode(copier(opening) or "-", bench.settings.domain)] * turns)


async def _feedback(bench: Bench) -> list[Finding]:
    """Errs once, then copies out of the feedback."""
    if not any(len(each.steps) > 1 and not each.steps[0].done for _, each in bench.table.plays):
        return []
    for copier in COPIERS:

        def player_for(seed: int, how: Callable[[str], str | None] = copier) -> Player:
            wrong = (bench.said_on(seed) or [encode("-", bench.settings.domain)])[0]
            return lambda text, turn: encode(how(text) or "-", bench.settings.domain) if turn else wrong

        if await _wins_often(bench, "feedback", player_for, _share(bench)):
            what = copier.__name__.replace("_", " ")
            return [Finding("ENV502", f"erring once and repeating the {what} of the feedback wins")]
    return []
