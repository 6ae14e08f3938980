"""Rank environments and prompts by regret: what a hint adds for a model that nobody trains.

High: solvable, and not yet without help. Each item is played in both arms and leaves one plain record, so that a long
ranking can be written item by item and gone on with.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from spadework.envs.registry import DEFAULT_DOMAIN
from spadework.envs.sandbox.base import Sandbox
from spadework.errors import PolicyError
from spadework.intervals import Interval, welch_interval
from spadework.policies.base import Message, Policy
from spadework.ranking.answers import Prompt, grade
from spadework.rollout import PlaySettings, first_observation
from spadework.selfplay.keys import play_key
from spadework.selfplay.play.plan import group_episodes, plan_plays, play_all
from spadework.selfplay.score.seeds import estimate
from spadework.types import Arm, Environment, Group

Item = Environment | Prompt


@dataclass(frozen=True, slots=True)
class Ranked:
    """What both arms say of one item."""

    id: str
    kind: str
    """``environment`` or ``prompt``."""
    digest: str
    """Of the item and of how it was played: a record under another one is out of date."""
    episodes: int
    """Played without a fault, both arms together."""
    faults: int
    unhinted: float
    """Mean return of the arm; of a prompt the share of right answers."""
    hinted: float
    regret: float
    """Hinted minus unhinted; may be negative."""
    low: float
    high: float
    """Of its 95 % interval."""


@dataclass(frozen=True, slots=True)
class Table:
    """Where items are played.

    Args:
        policy: plays.
        sandbox: runs environments.
        settings: of the play, by domain; prompts are played as games.
        episodes: of each arm.
        run_seed: with the item's id, seeds its episodes.
    """

    policy: Policy
    sandbox: Sandbox
    settings: Callable[[str], PlaySettings]
    episodes: int
    run_seed: int


def digest(item: Item, setting: str) -> str:
    """Of an item's content and of ``setting``, a text that says how it is played."""
    return hashlib.sha256(json.dumps([setting, dataclasses.asdict(item)], sort_keys=True).encode()).hexdigest()[:16]


async def rank_item(table: Table, item: Item, place: int, setting: str) -> Ranked:
    """Play one item in both arms; ``place``, its own in the whole list, names its requests."""
    play = _play_environment if isinstance(item, Environment) else _play_prompt
    kind = "environment" if isinstance(item, Environment) else "prompt"
    hinted, unhinted, regret, valid = await play(table, item, place)  # type: ignore[arg-type]
    return Ranked(
        id=item.id,
        kind=kind,
        digest=digest(item, setting),
        episodes=valid,
        faults=2 * table.episodes - valid,
        unhinted=unhinted,
        hinted=hinted,
        regret=regret.mean,
        low=regret.low,
        high=regret.high,
    )


def by_regret(results: Sequence[Ranked]) -> list[Ranked]:
    """Highest regret first, of equals that with the higher low end; what faults left unknown stands last."""

    def order(one: Ranked) -> tuple[float, float]:
        low = -math.inf if math.isnan(one.low) else one.low
        return (math.inf, 0.0) if math.isnan(one.regret) else (-one.regret, -low)

    return sorted(results, key=order)


async def _play_environment(table: Table, environment: Environment, place: int) -> tuple[float, float, Interval, int]:
    counts = (table.episodes, table.episodes)
    plays = [
        dataclasses.replace(play, key=play_key(0, place, play.arm, play.index))
        for play in plan_plays([environment], lambda one: True, 0, table.run_seed, counts)
    ]
    settings = table.settings(environment.domain)
    episodes = await play_all(table.policy, table.sandbox, plays, settings, concurrency=None)
    arms: dict[str, Group] = {group.arm: group for group in group_episodes(episodes)}
    seen = estimate(arms)
    valid = sum(len(group.valid) for group in arms.values())
    return arms["hinted"].mean_return, seen.unhinted_return, seen.regret, valid


async def _play_prompt(table: Table, prompt: Prompt, place: int) -> tuple[float, float, Interval, int]:
    """A prompt has no seeds: its arms are compared as strangers."""
    settings = table.settings(DEFAULT_DOMAIN)

    async def ask(arm: Arm, index: int) -> float:
        text = first_observation(prompt.prompt, prompt.hint if arm == "hinted" else "")
        with table.policy.attend():
            chat = table.policy.chat((*settings.opening, Message(role="user", content=text)))
            try:
                completion = await chat.reply(settings.sampling, play_key(0, place, arm, index))
            except PolicyError:
                return math.nan
        return grade(prompt, completion.text) if completion.finish_reason == "stop" else 0.0

    arms: tuple[Arm, Arm] = ("hinted", "unhinted")
    scores = await asyncio.gather(*(ask(arm, index) for arm in arms for index in range(table.episodes)))
    hinted, unhinted = (
        [score for score in part if not math.isnan(score)]
        for part in (scores[: table.episodes], scores[table.episodes :])
    )
    means = [math.fsum(own) / len(own) if own else math.nan for own in (hinted, unhinted)]
    return means[0], means[1], welch_interval(hinted, unhinted), len(hinted) + len(unhinted)
