"""Rank environments and prompts by regret: how much a hint raises the return of a model that is not trained.

High regret means that an item can be solved, but not yet without help. Each item is played in both arms and gives one
plain record, so that a long ranking can be written item by item and continued after an interruption.
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
from spadework.intervals import Interval, bounded_regret, difference_interval
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
    """The results of one item in both arms."""

    id: str
    kind: str
    """``environment`` or ``prompt``."""
    digest: str
    """Hash of the item and of how it was played; a record with another digest is out of date."""
    episodes: int
    """Number of episodes without a fault, both arms together."""
    faults: int
    unhinted: float
    """Mean return of the unhinted arm; for a prompt, the share of right answers."""
    hinted: float
    regret: float
    """Hinted minus unhinted mean return; it may be negative."""
    low: float
    high: float
    """Upper end of the regret's 95 % interval."""
    causes: Mapping[str, int] = field(default_factory=dict)
    """Number of faults by cause (``errors.causes``)."""
    lost: bool = False
    """Whether every episode was lost to a fault of endpoint, model or sandbox."""


@dataclass(frozen=True, slots=True)
class Table:
    """What is needed to play items.

    Args:
        policy: the model that plays.
        sandbox: runs the environments.
        settings: the settings of play, by domain; prompts are played with those of games.
        episodes: the number of episodes in each arm.
        run_seed: seeds an item's episodes, together with its id.
        grader: grades replies to prompts.
        on_episode: called with every episode when it ends.
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
    """The results of one item's episodes."""

    unhinted: float
    hinted: float
    regret: Interval
    faults: Sequence[Fault]


def digest(item: Item, setting: str) -> str:
    """Hash of an item's content and of ``setting``, a text that describes how it is played."""
    return hashlib.sha256(json.dumps([setting, dataclasses.asdict(item)], sort_keys=True).encode()).hexdigest()[:16]


async def rank_item(table: Table, item: Item, place: int, setting: str) -> Ranked:
    """Play one item in both arms. ``place``, its index in the whole list, is part of the keys of its requests."""
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
    """Sort by falling regret, ties by the lower end of the interval. Items whose regret is unknown come last."""

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
    return _Seen(seen.unhinted_return, arms["hinted"].mean_return, bounded_regret(seen.regret), faults)


async def _play_prompt(table: Table, prompt: Prompt, place: int) -> _Seen:
    """Play a prompt. It has no seeds to pair by, so its arms are compared as independent samples."""
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
    return _Seen(_mean(unhinted), _mean(hinted), difference_interval(hinted, unhinted, 0.0, 1.0), faults)


async def _ask(table: Table, prompt: Prompt, arm: Arm, key: Key) -> float:
    """Ask a prompt once; returns 1 for a right reply, else 0. Raises ``FaultError``."""
    settings = table.settings(DEFAULT_DOMAIN)
    text = first_observation(prompt.prompt, prompt.hint if arm == "hinted" else "")
    with table.policy.attend():
        chat = table.policy.chat((*settings.opening, Message(role="user", content=text)))
        completion = await chat.reply(settings.sampling, key)
    return await table.grader.grade(prompt, completion.text) if completion.finish_reason == "stop" else 0.0


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan
