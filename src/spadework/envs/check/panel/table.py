"""The table at which all players of one check play: what is kept of each play, and figures over all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from spadework.envs.check.players import Play


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
