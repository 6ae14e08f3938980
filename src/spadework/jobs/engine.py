"""Model and sandbox for verbs that run no self-play."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from spadework import build
from spadework.config import RunConfig
from spadework.envs.sandbox.base import Sandbox
from spadework.policies.base import Metered, Policy


@asynccontextmanager
async def open_policy(
    config: RunConfig, note: Callable[[str], None], *, designs: bool = False
) -> AsyncIterator[tuple[Policy, Sandbox]]:
    """The config's model, warmed up when it asks for it, and its sandbox; both are let go of at the end.

    ``designs`` asks for the one that designs. An endpoint's counts are told at the end.
    """
    sandbox = build.build_sandbox(config)
    try:
        author = await build.build_author(config, sandbox, note) if designs else None
        policy = author or await build.build_policy(config, sandbox, note)
        try:
            yield policy, sandbox
        finally:
            if isinstance(policy, Metered):
                told = [f"{name.removeprefix('endpoint/')} {value:g}" for name, value in policy.take_metrics().items()]
                note(f"endpoint: {', '.join(told)}")
            await policy.close()
    finally:
        await sandbox.close()


@asynccontextmanager
async def open_trainer(config: RunConfig, note: Callable[[str], None]) -> AsyncIterator[tuple[build.Engine, Sandbox]]:
    """The same with the trainer, which loads checkpoints; raises ``ConfigError`` for a model that cannot learn."""
    sandbox = build.build_sandbox(config)
    try:
        engine = await build.build_warm_engine(config, sandbox, note)
        try:
            yield engine, sandbox
        finally:
            await engine.policy.close()
    finally:
        await sandbox.close()
