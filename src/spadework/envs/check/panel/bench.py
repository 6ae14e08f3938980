"""Where the panel plays, and how often one of its players wins."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from spadework.envs.check.panel.table import Table
from spadework.envs.check.players import Play, recite
from spadework.envs.check.seeds import draw_seed, draw_seeds
from spadework.envs.domain import Dialogue, Domain
from spadework.envs.sandbox.base import Script, Session

if TYPE_CHECKING:
    from spadework.envs.check.runtime import RuntimeChecks


SEEDS = 12
"""Seeds over which a player must win before luck is ruled out."""
_CHARACTERS = 5_000_000
"""Characters of observations that one request may give: no more plays are asked for at once than can stay below."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Where the panel plays: one instance, reset for every play."""

    session: Session
    shadow: Session | None
    """Lends the oracle its ``solution()``; ``None`` without an oracle."""
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

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds that the oracle plays too."""
        return draw_seeds(self.settings.seeds)

    def seed(self, index: int) -> int:
        """Those seeds, and then others."""
        return draw_seed(index)

    def said_on(self, seed: int) -> list[str]:
        """What the oracle said on the other seeds, for a player who does not know this one."""
        own = {action for each in self.solved if each.seed == seed for action in each.actions}
        said = [action for each in self.solved if each.seed != seed for action in each.actions]
        return list(dict.fromkeys(said)) or sorted(own)


async def wins_often(bench: Bench, player: Callable[[list[int]], Awaitable[list[bool]]], share: float) -> bool:
    """Whether a player, who tells which seeds it wins, wins at least ``share``; stops as soon as that is decided."""
    seeds, may_lose = [bench.seed(index) for index in range(SEEDS)], _may_lose(share)
    while seeds and may_lose >= 0:
        now, seeds = seeds[: may_lose + 1], seeds[may_lose + 1 :]  # fewer cannot decide
        may_lose -= (await player(now)).count(False)
    return may_lose >= 0


async def says_what_wins(
    bench: Bench, name: str, players: Mapping[str, Callable[[str], str]], share: float
) -> str | None:
    """The first of ``players`` who wins at least ``share`` by what it takes out of the opening and says for ever.

    Nearly all of them lose so many of the first plays that they cannot, and those plays are one request.
    """
    first = [bench.seed(index) for index in range(_may_lose(share) + 1)]
    openings = await bench.openings(first)
    sayings = [(seed, action_for(openings[seed])) for action_for in players.values() for seed in first]
    won = iter(await bench.wins(name, [(seed, [action] * bench.turns) for seed, action in sayings]))
    hopeful = [player for player in players if sum(next(won) for _ in first)]
    for player in hopeful:
        if await wins_often(bench, partial(say, bench, name, players[player]), share):
            return player
    return None


def _may_lose(share: float) -> int:
    return math.floor(SEEDS * (1 - share) + 1e-9)


async def say(bench: Bench, name: str, action_for: Callable[[str], str], seeds: list[int]) -> list[bool]:
    """Which seeds are won by what is taken out of the opening once and said for ever."""
    openings = await bench.openings(seeds)
    return await bench.wins(name, [(seed, [action_for(openings[seed])] * bench.turns) for seed in seeds])
