"""``spadework replay``: re-execute episodes of a run in the sandbox and compare them byte for byte."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from spadework import build
from spadework.envs.check.program import in_order
from spadework.envs.registry import find_domain
from spadework.envs.sandbox.base import Limits, Sandbox
from spadework.envs.watch import watch
from spadework.errors import ConfigError, RunError, SandboxError
from spadework.replay import Difference, replay_episode
from spadework.runs.reading import cycle_episodes, read_environments
from spadework.runs.store import RunStore
from spadework.types import Environment, Episode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument("run", type=Path, metavar="RUN", help="run directory")
    parser.add_argument("episode", nargs="?", metavar="EPISODE_ID", help="one episode, by its id")
    parser.add_argument("--all", action="store_true", help="every episode of the run")
    parser.add_argument("--cycle", type=int, metavar="N", help="every episode of one cycle, counted from 0")
    parser.add_argument("--states", action="store_true", help="with EPISODE_ID: print what each step changed")
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 1), metavar="N", help="episodes at a time")


def run(args: argparse.Namespace) -> int:
    """Run the verb: 0 when all come out as stored, 1 at a difference, 2 when one could not be replayed."""
    if sum((args.episode is not None, args.all, args.cycle is not None)) != 1:
        raise ConfigError("say what to replay: EPISODE_ID, --cycle N or --all")
    if args.states and args.episode is None:
        raise ConfigError("--states shows one episode: give its EPISODE_ID")
    store = RunStore.read(args.run)
    try:
        return asyncio.run(_replay(store, args))
    finally:
        store.close()


def _chosen(store: RunStore, args: argparse.Namespace) -> Iterator[Episode]:
    found = False
    for _, episodes in cycle_episodes(store, args.cycle):
        for episode in episodes:
            if args.episode in (None, episode.id):
                found = True
                yield episode
        if found and args.episode:
            return
    if args.episode and not found:
        raise RunError(f"{store.path} holds no episode {args.episode!r}; `spadework export` lists them")


async def _replay(store: RunStore, args: argparse.Namespace) -> int:
    config = store.config
    limits, agent = build.build_limits(config), config.agent
    entered: dict[str, list[Environment]] = defaultdict(list)
    for environment in read_environments(store):
        entered[environment.id].append(environment)
    sandbox = build.build_sandbox(config)
    same = differing = failed = 0

    async def work(episode: Episode) -> Difference | None:
        played = [one for one in entered[episode.environment_id] if one.cycle <= episode.cycle]
        if not played:
            raise RunError(f"the run has no record of its environment {episode.environment_id}")
        if args.states:
            await _print_states(sandbox, played[-1], episode, limits)
        return await replay_episode(sandbox, played[-1], episode, limits, agent.return_type, agent.discount)

    try:
        async for episode, result in in_order(_chosen(store, args), work, args.jobs):
            if isinstance(result, Exception) and not isinstance(result, SandboxError | RunError):
                raise result
            if isinstance(result, Exception):
                failed += 1
                print(f"{episode.id}: not replayed: {result}", file=sys.stderr)
            elif result is None:
                same += 1
            else:
                differing += 1
                print(f"{episode.id}: {result}", flush=True)
    finally:
        await sandbox.close()
    print("OK" if not (differing or failed) else f"{differing} differ, {failed} not replayed", end="")
    print(f": {same} of {same + differing + failed} episodes came out as stored")
    return 1 if differing else 2 * bool(failed)


async def _print_states(sandbox: Sandbox, environment: Environment, episode: Episode, limits: Limits) -> None:
    """Each action as its domain shows it, and what it changed in the state of the environment."""
    domain = find_domain(environment.domain)
    actions = [turn.action for turn in episode.turns]
    seen = await watch(sandbox, domain, environment.source, (episode.seed, actions), limits)
    for number, (action, watched) in enumerate(zip(actions, seen[1:], strict=False), 1):
        for piece in domain.display.step(action):
            arguments = f" {json.dumps(dict(piece.arguments))}" if piece.arguments else ""
            print(f"turn {number}: {piece.kind} {piece.text!r}{arguments}")
        for change in watched.changes:
            print(f"  {change.where}: {json.dumps(change.before)} -> {json.dumps(change.after)}")
