"""Sandboxes, and agents beside them, opened for the length of a call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from weakref import WeakKeyDictionary

from spadework import build
from spadework.api.inputs import ConfigSource, read_config
from spadework.background import BackgroundLoop, current_background
from spadework.config import RunConfig
from spadework.envs.sandbox.base import Sandbox
from spadework.errors import first_error
from spadework.jobs.engine import open_policy
from spadework.observer import Observer
from spadework.policies.base import Policy
from spadework.policies.function import Agent, FunctionPolicy

AgentSource = Agent | Policy | ConfigSource
"""Who plays: a function of yours, a ``Policy``, or the model of a config."""

_shared: WeakKeyDictionary[BackgroundLoop, dict[str, Sandbox]] = WeakKeyDictionary()


@asynccontextmanager
async def open_sandbox(config: ConfigSource | None = None) -> AsyncIterator[Sandbox]:
    """The sandbox of a config's ``sandbox`` section, or of the defaults: where programs run confined.

    Raises:
        ConfigError: this machine lacks a layer of confinement that ``sandbox.require`` names.

    Example:
        async with spadework.open_sandbox() as sandbox:
            session = await sandbox.open(environment.source, spadework.Limits())
            step = await session.reset(seed=0)
    """
    settings = RunConfig() if config is None else read_config(config)
    loop = current_background()
    if loop is not None:
        yield await _shared_sandbox(loop, settings)
        return
    sandbox = build.build_sandbox(settings)
    try:
        await build.check_sandbox(sandbox)
        yield sandbox
    finally:
        await sandbox.close()


@asynccontextmanager
async def open_agent(
    agent: AgentSource, config: ConfigSource | None, observer: Observer
) -> AsyncIterator[tuple[RunConfig, Policy, Sandbox]]:
    """Who plays, where, and under which settings; ``config`` of ``None`` means the agent's own, or the defaults."""
    if isinstance(agent, RunConfig | Mapping | str | Path):
        own = read_config(agent)
        async with open_policy(own, observer.note) as (policy, sandbox):
            yield (own if config is None else read_config(config)), policy, sandbox
        return
    settings = RunConfig() if config is None else read_config(config)
    async with open_sandbox(settings) as sandbox:
        if isinstance(agent, Policy):
            yield settings, agent, sandbox
            return
        asked = FunctionPolicy(agent)
        try:
            yield settings, asked, sandbox
        finally:
            await asked.close()


@contextmanager
def one_error() -> Iterator[None]:
    """Raise the first error of tasks that failed together, not their group."""
    try:
        yield
    except BaseExceptionGroup as group:
        raise first_error(group) from group


async def _shared_sandbox(loop: BackgroundLoop, config: RunConfig) -> Sandbox:
    """One sandbox for all synchronous calls under the same settings: its workers are warm for the next call."""
    sandboxes = _shared.setdefault(loop, {})
    key = config.sandbox.model_dump_json()
    if key not in sandboxes:
        sandbox = build.build_sandbox(config)
        try:
            await build.check_sandbox(sandbox)
        except BaseException:
            await sandbox.close()
            raise
        kept = sandboxes.setdefault(key, sandbox)
        if kept is sandbox:
            loop.at_close(sandbox.close)
        else:  # another call was quicker
            await sandbox.close()
    return sandboxes[key]
