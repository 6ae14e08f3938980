"""Model and sandbox for verbs that ask a model but train nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from spadework import build
from spadework.config import RunConfig
from spadework.envs.sandbox import Sandbox
from spadework.policies.base import Policy


@asynccontextmanager
async def open_policy(config: RunConfig, note: Callable[[str], None]) -> AsyncIterator[tuple[Policy, Sandbox]]:
    """The config's model, warmed up when it asks for it, and its sandbox; both are let go of at the end."""
    sandbox = build.build_sandbox(config)
    try:
        engine = await build.build_warm_engine(config, sandbox, note)
        try:
            yield engine.policy, sandbox
        finally:
            await engine.policy.close()
    finally:
        await sandbox.close()
