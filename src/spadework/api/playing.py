"""Environments without training: check them, play them, rank them, and play one episode by hand."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Literal

from spadework import build
from spadework.api.inputs import (
    ConfigSource,
    EnvironmentSource,
    read_config,
    read_environment,
    read_environments,
    read_program,
)
from spadework.api.opening import AgentSource, one_error, open_agent, open_sandbox
from spadework.background import background, blocking
from spadework.config import RunConfig
from spadework.envs.check.program import Checked, check_program, in_order
from spadework.envs.check.runtime import RuntimeChecks
from spadework.envs.sandbox.base import Limits, Session, SyncSession
from spadework.episode import LiveEpisode, SyncEpisode
from spadework.errors import ConfigError
from spadework.observer import NullObserver, Observer
from spadework.ranking.answers import Grader, load_prompts
from spadework.ranking.rank import Item, Ranked, Table, by_regret, rank_item
from spadework.selfplay.play.plan import plan_plays, play_all
from spadework.types import Episode

Arms = Literal["unhinted", "hinted", "both"]

_RANKED_AT_ONCE = 8
"""Items that are played at the same time."""


async def check_async(source: EnvironmentSource, *, seeds: int = 5, static: bool = False) -> Checked:
    """Find the faults of one environment program, by reading it and by playing it, as ``spadework check`` does.

    Args:
        source: an ``Environment``, the path of a program, or its text.
        seeds: how many seeds the program is played with.
        static: read the program only, and run nothing.

    Returns:
        ``findings`` (each with ``code``, ``message``, ``line`` and ``severity``; an ``"error"`` rejects the program),
        ``domain``, and ``statistics`` of the plays, ``None`` where the program was not run.

    Raises:
        ConfigError: the path holds no program, or several.
        SandboxError: the sandbox failed, which says nothing about the program.

    Example:
        report = spadework.check("code_breaker")
        print([str(finding) for finding in report.findings if finding.severity == "error"])
    """
    environment = read_program(source)
    settings = RuntimeChecks(seeds=seeds)
    if static:
        return await check_program(None, environment.source, settings, hint=environment.hint)
    with one_error():
        async with open_sandbox() as sandbox:
            return await check_program(sandbox, environment.source, settings, hint=environment.hint)


async def play_async(
    environment: EnvironmentSource | Iterable[EnvironmentSource],
    agent: AgentSource,
    n: int = 8,
    *,
    arm: Arms = "unhinted",
    config: ConfigSource | None = None,
    observer: Observer | None = None,
) -> list[Episode]:
    r"""Play environments with a function of yours, a policy, or the model of a config.

    Args:
        environment: one environment or several, each an ``Environment``, the text of a program, or the path of a
            program or a pool.
        agent: ``agent(messages) -> reply`` or ``async def agent(messages) -> str``, where ``messages`` is a list of
            dicts with ``role`` and ``content``; a parameter called ``tools`` gets the tools' schemas. A plain function
            is called in a thread, one call at a time; an async one many times at once. A string, path or
            ``RunConfig`` is a config, whose model plays.
        n: episodes of each environment and arm. Both arms reset with the same seeds.
        arm: ``"unhinted"``, ``"hinted"`` (environments with a hint only), or ``"both"``.
        config: limits, turns, prompts, and the seed of all draws; by default those of the agent's config, or the
            defaults.
        observer: is told of every episode that ends.

    Returns:
        The episodes, by environment, arm and index. A fault of a program, a sandbox or an endpoint is part of its
        episode (``fault``), whose return is NaN.

    Raises:
        ConfigError: a path or a config cannot be used, there is nothing to play, or the agent returned no text.

    Example:
        episodes = spadework.play("code_breaker", lambda messages: "\\boxed{A}", n=4)
        print([episode.return_ for episode in episodes])
    """
    watcher = observer or NullObserver()
    environments = read_environments(environment)
    with one_error():
        async with open_agent(agent, config, watcher) as (settings, policy, sandbox):
            counts = (0 if arm == "hinted" else n, 0 if arm == "unhinted" else n)
            plays = plan_plays(environments, lambda one: bool(one.hint), 0, settings.run.seed, counts)
            if not plays:
                raise ConfigError("there is nothing to play: n is 0, or no environment here has a hint")
            watcher.stage(None, "play", len(plays))
            episodes: list[Episode] = []
            for domain in dict.fromkeys(play.environment.domain for play in plays):
                episodes += await play_all(
                    policy,
                    sandbox,
                    [play for play in plays if play.environment.domain == domain],
                    build.build_play(settings, domain),
                    concurrency=None if settings.run.deterministic else settings.play.concurrency,
                    on_done=lambda episode: watcher.advance(sum(segment.sampled for segment in episode.segments)),
                )
    return episodes


async def rank_async(
    items: EnvironmentSource | Iterable[EnvironmentSource],
    agent: AgentSource,
    n: int = 8,
    *,
    config: ConfigSource | None = None,
    observer: Observer | None = None,
) -> list[Ranked]:
    """Rank environments, or prompts with answers, by regret: what a hint adds for this agent. Nothing is trained.

    Args:
        items: environments as in ``play``, or the path of a ``.jsonl`` of prompts (``id``, ``prompt``, ``hint``,
            ``answer``, ``grader``).
        agent: who plays; see ``play``.
        n: episodes of each item and arm.
        config: see ``play``.
        observer: is told of every item that ends.

    Returns:
        One record an item, highest regret first: mean return of each arm (``unhinted``, ``hinted``), ``regret`` with
        the ends ``low`` and ``high`` of its 95 % interval, and the numbers of valid ``episodes`` and of ``faults``.

    Raises:
        ConfigError: an item has no hint, or as in ``play``.

    Example:
        for ranked in spadework.rank("games", my_agent, n=4)[:3]:
            print(ranked.id, ranked.regret)
    """
    watcher = observer or NullObserver()
    wanted = _items(items)
    with one_error():
        async with aclosing(Grader()) as grader, open_agent(agent, config, watcher) as (settings, policy, sandbox):
            play = partial(build.build_play, settings)
            table = Table(policy, sandbox, play, n, settings.run.seed, grader)
            watcher.stage(None, "rank", len(wanted))
            ranked: list[Ranked] = []
            numbered = list(enumerate(wanted))
            async for _, found in in_order(
                numbered, lambda pair: rank_item(table, pair[1], pair[0], "api"), _RANKED_AT_ONCE
            ):
                if isinstance(found, Exception):
                    raise found
                ranked.append(found)
                watcher.advance(0)
    return by_regret(ranked)


def open_episode(
    environment: EnvironmentSource, seed: int, hint: bool = False, *, config: ConfigSource | None = None
) -> SyncEpisode:
    """Open one episode to play it by hand, or with an agent that no function call fits.

    Args:
        environment: an ``Environment``, the text of a program, or the path of one.
        seed: decides the task. The same seed gives the same task.
        hint: whether the environment's hint is shown.
        config: limits, turns, system prompt and return type; the defaults where it is ``None``.

    Returns:
        The open episode: ``messages`` is what the agent is shown, ``advance(reply)`` plays a reply, and once it is
        ``done`` there are ``return_``, ``ending`` and ``turns``. Close it, or use it in a ``with``.

    Raises:
        ConfigError: the environment cannot be read, or has no hint to show.
        ProgramError: the program failed in its first call.
        SandboxError: the sandbox failed.

    Example:
        with spadework.open_episode("code_breaker", seed=0) as episode:
            while not episode.done:
                episode.advance(my_agent(episode.messages))
        print(episode.return_)
    """
    read = read_environment(environment)
    if hint and not read.hint:
        raise ConfigError(f"the environment {read.id} has no hint to show; open it with hint=False")
    settings = build.build_play(_settings(config), read.domain)
    live = LiveEpisode(read.domain, settings.opening, settings.return_type, settings.discount)
    session = open_session(read, limits=settings.limits, config=config)
    return SyncEpisode(session, live, seed, read.hint if hint else "")


def open_session(
    environment: EnvironmentSource, *, limits: Limits | None = None, config: ConfigSource | None = None
) -> SyncSession:
    r"""Load a program in the sandbox and call it directly: ``reset(seed)``, ``step(action)``, ``call(method)``.

    ``step`` takes actions (``\\boxed{...}``, or tool calls), not whole replies, and nothing here counts turns: for
    an agent there is ``open_episode``.

    Args:
        environment: an ``Environment``, the text of a program, or the path of one.
        limits: what a call may use; those of ``config`` where it is ``None``.
        config: of the sandbox; the defaults where it is ``None``.

    Raises:
        ConfigError: the environment cannot be read.
        ProgramError: the program cannot be loaded.
        SandboxError: the sandbox failed.

    Example:
        with spadework.open_session("code_breaker") as session:
            print(session.reset(seed=0).observation, session.call("solution"))
    """
    source = read_environment(environment).source
    settings = _settings(config)
    allowed = limits or build.build_limits(settings)

    async def open_it() -> Session:
        async with open_sandbox(settings) as sandbox:
            return await sandbox.open(source, allowed)

    loop = background()
    return SyncSession(loop.run(open_it()), loop)


check = blocking(check_async)
play = blocking(play_async)
rank = blocking(rank_async)


def _settings(config: ConfigSource | None) -> RunConfig:
    return RunConfig() if config is None else read_config(config)


def _items(items: EnvironmentSource | Iterable[EnvironmentSource]) -> list[Item]:
    is_prompts = isinstance(items, str | Path) and str(items).endswith(".jsonl")
    read: list[Item] = [*load_prompts(Path(str(items)))] if is_prompts else [*read_environments(items)]
    bare = [item.id for item in read if not item.hint]
    if bare:
        raise ConfigError(f"{len(bare)} of {len(read)} items have no hint, the first {bare[0]!r}: nothing to rank by")
    return read
