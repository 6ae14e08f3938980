"""Plan and play the episodes of both arms, on the same seeds and concurrently (method section 2, step 2)."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext

from spadework.config import PlaySection
from spadework.envs.sandbox.base import Sandbox
from spadework.policies.base import Policy
from spadework.rollout import Play, PlaySettings, play_episode
from spadework.selfplay.keys import play_key
from spadework.types import Arm, Environment, Episode, Group, derive_seed

PLAIN = PlaySection()


def plan_plays(
    environments: Sequence[Environment],
    fresh: Callable[[Environment], bool],
    cycle: int,
    run_seed: int,
    counts: tuple[int, int],
    play: PlaySection = PLAIN,
) -> list[Play]:
    """Every episode of a cycle: the unhinted arm of each environment, the hinted one of those that are fresh.

    Args:
        environments: the pool, in order.
        fresh: whether an environment's hinted arm is due.
        cycle: the cycle of the run.
        run_seed: seeds an episode, together with its environment, cycle and index.
        counts: (unhinted, hinted) episodes per environment.
        play: ``plays_per_seed`` episodes of an arm share a seed, their indices following one another; unless it is
            ``paired``, the hinted arm draws seeds of its own.
    """
    plays = []
    for place, environment in enumerate(environments):
        arms: list[tuple[Arm, int]] = [("unhinted", counts[0])]
        if fresh(environment):
            arms.append(("hinted", counts[1]))
        for arm, count in arms:
            drawn = "episode" if play.paired or arm == "unhinted" else "hinted episode"
            for index in range(count):
                seed = derive_seed(run_seed, drawn, cycle, environment.id, index // play.plays_per_seed) % 2**31
                plays.append(Play(environment, arm, index, seed, cycle, play_key(cycle, place, arm, index)))
    return plays


async def play_all(
    policy: Policy,
    sandbox: Sandbox,
    plays: Sequence[Play],
    settings: PlaySettings,
    *,
    concurrency: int | None,
    on_done: Callable[[Episode], None] = lambda episode: None,
) -> list[Episode]:
    """Play all ``plays`` and return their episodes in order. A fault is recorded in its episode.

    ``concurrency`` of ``None`` starts all at once. A deterministic engine needs that, because the episodes that take
    part in a batch must be known before it starts.
    """
    gate: AbstractAsyncContextManager[object] = asyncio.Semaphore(concurrency) if concurrency else nullcontext()

    async def one(play: Play) -> Episode:
        async with gate:
            episode = await play_episode(policy, sandbox, play, settings)
        on_done(episode)
        return episode

    async with asyncio.TaskGroup() as group:
        with policy.attend():
            tasks = [group.create_task(one(play)) for play in plays]
            await asyncio.sleep(0)  # lets every task begin to attend before the engine may start a batch
    return [task.result() for task in tasks]


def group_episodes(episodes: Sequence[Episode]) -> list[Group]:
    """Episodes by environment and arm, in order of first appearance."""
    members: dict[tuple[str, Arm], list[Episode]] = defaultdict(list)
    for episode in episodes:
        members[episode.environment_id, episode.arm].append(episode)
    return [Group(environment_id, arm, tuple(own)) for (environment_id, arm), own in members.items()]
