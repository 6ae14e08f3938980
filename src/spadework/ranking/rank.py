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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from spadework.envs.registry import DEFAULT_DOMAIN
from spadework.envs.sandbox.base import Sandbox
from spadework.episode import first_observation
from spadework.errors import FaultError, blames_machinery, causes
from spadework.intervals import Interval, welch_interval
from spadework.policies.base import Message, Policy
from spadework.ranking.answers import Grader, Prompt
from spadework.rollout import PlaySettings
from spadework.selfplay.keys import play_key
from spadework.selfplay.play.plan import group_episodes, plan_plays, play_all
from spadework.selfplay.score.seeds import estimate
from spadework.types import Arm, Environment, Fault, Group, Key

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
    causes: Mapping[str, int] = field(default_factory=dict)
    """The faults by cause (``errors.causes``)."""
    lost: bool = False
    """Whether endpoint, model or sandbox failed every episode."""


@dataclass(frozen=True, slots=True)
class Table:
    """Where items are played.

    Args:
        policy: plays.
        sandbox: runs environments.
        settings: of the play, by domain; prompts are played as games.
        episodes: of each arm.
        run_seed: with the item's id, seeds its episodes.
        grader: judges replies to prompts.
        on_episode: told of every episode when it ends.
    """

    policy: Policy
    sandbox: Sandbox
    settings: Callable[[str], PlaySettings]
    episodes: int
    run_seed: int
    grader: Grader = field(default_factory=Grader)
    on_episode: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the episodes of one item showed."""

    unhinted: float
    hinted: float
    regret: Interval
    faults: Sequence[Fault]


def digest(item: Item, setting: str) -> str:
    """Of an item's content and of ``setting``, a text that says how it is played."""
    return hashlib.sha256(json.dumps([setting, dataclasses.asdict(item)], sort_keys=True).encode()).hexdigest()[:16]


async def rank_item(table: Table, item: Item, place: int, setting: str) -> Ranked:
    """Play one item in both arms; ``place``, its own in the whole list, names its requests."""
    if isinstance(item, Environment):
        kind, seen = "environment", await _play_environment(table, item, place)
    else:
        kind, seen = "prompt", await _play_prompt(table, item, place)
    valid = 2 * table.episodes - len(seen.faults)
    return Ranked(
        id=item.id,
        kind=kind,
        digest=digest(item, setting),
        episodes=valid,
        faults=len(seen.faults),
        unhinted=seen.unhinted,
        hinted=seen.hinted,
        regret=seen.regret.mean,
        low=seen.regret.low,
        high=seen.regret.high,
        causes=dict(causes(seen.faults)),
        lost=not valid and all(map(blames_machinery, seen.faults)),
    )


def by_regret(results: Sequence[Ranked]) -> list[Ranked]:
    """Highest regret first, of equals that with the higher low end; what faults left unknown stands last."""

    def order(one: Ranked) -> tuple[float, float]:
        low = -math.inf if math.isnan(one.low) else one.low
        return (math.inf, 0.0) if math.isnan(one.regret) else (-one.regret, -low)

    return sorted(results, key=order)


async def _play_environment(table: Table, environment: Environment, place: int) -> _Seen:
    counts = (table.episodes, table.episodes)
    plays = [
        dataclasses.replace(play, key=play_key(0, place, play.arm, play.index))
        for play in plan_plays([environment], lambda one: True, 0, table.run_seed, counts)
    ]
    settings = table.settings(environment.domain)
    episodes = await play_all(
        table.policy, table.sandbox, plays, settings, concurrency=None, on_done=lambda episode: table.on_episode()
    )
    arms: dict[str, Group] = {group.arm: group for group in group_episodes(episodes)}
    seen = estimate(arms)
    faults = [episode.fault for episode in episodes if episode.fault is not None]
    return _Seen(seen.unhinted_return, arms["hinted"].mean_return, seen.regret, faults)


async def _play_prompt(table: Table, prompt: Prompt, place: int) -> _Seen:
    """A prompt has no seeds: its arms are compared as strangers."""
    scores: dict[str, list[float]] = {"hinted": [], "unhinted": []}
    faults: list[Fault] = []

    async def ask(arm: Arm, index: int) -> None:
        try:
            scores[arm].append(await _ask(table, prompt, arm, play_key(0, place, arm, index)))
        except FaultError as error:
            faults.append(error.fault)
        table.on_episode()

    arms: tuple[Arm, Arm] = ("hinted", "unhinted")
    await asyncio.gather(*(ask(arm, index) for arm in arms for index in range(table.episodes)))
    hinted, unhinted = scores["hinted"], scores["unhinted"]
    return _Seen(_mean(unhinted), _mean(hinted), welch_interval(hinted, unhinted), faults)


async def _ask(table: Table, prompt: Prompt, arm: Arm, key: Key) -> float:
    """Whether one reply is right. Raises ``FaultError``."""
    settings = table.settings(DEFAULT_DOMAIN)
    text = first_observation(prompt.prompt, prompt.hint if arm == "hinted" else "")
    with table.policy.attend():
        chat = table.policy.chat((*settings.opening, Message(role="user", content=text)))
        completion = await chat.reply(settings.sampling, key)
    return await table.grader.grade(prompt, completion.text) if completion.finish_reason == "stop" else 0.0


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan
