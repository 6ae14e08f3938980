"""Open the model and the sandbox for jobs that run no self-play."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from spadework import build
from spadework.config import RunConfig
from spadework.envs.sandbox.base import Sandbox
from spadework.policies.base import Metered, Policy
from spadework.policies.server.preflight import preflight

_PATIENCE = 2.0
"""Seconds without an answer of an endpoint after which the user is told what the job waits for."""


@asynccontextmanager
async def open_policy(
    config: RunConfig, note: Callable[[str], None], *, designs: bool = False
) -> AsyncIterator[tuple[Policy, Sandbox]]:
    """The config's model, warmed up where the config says so, and its sandbox; both are closed at the end.

    ``designs`` selects the designer's model instead of the agent's. The counts of an endpoint (requests, tokens) are
    noted at the end. Raises ``ConfigError`` for an endpoint that gives no usable answer.
    """
    sandbox = build.build_sandbox(config)
    try:
        author = await build.build_author(config, sandbox, note) if designs else None
        policy = author or await build.build_policy(config, sandbox, note)
        try:
            await ask_first(policy, note)
            try:
                yield policy, sandbox
            finally:
                _tell_counts(policy, note)
        finally:
            await policy.close()
    finally:
        await sandbox.close()


def _tell_counts(policy: Policy, note: Callable[[str], None]) -> None:
    if isinstance(policy, Metered):
        counts = [f"{name.removeprefix('endpoint/')} {value:g}" for name, value in policy.take_metrics().items()]
        note(f"endpoint: {', '.join(counts)}")


async def ask_first(policy: Policy, note: Callable[[str], None]) -> None:
    """Run ``preflight`` with a note where it takes long, because a server may load its model at the first request."""
    asking = asyncio.ensure_future(preflight(policy))
    try:
        done, _ = await asyncio.wait([asking], timeout=_PATIENCE)
        if not done:
            note("waiting for the endpoint's first answer")
        await asking
    finally:
        asking.cancel()


@asynccontextmanager
async def open_trainer(config: RunConfig, note: Callable[[str], None]) -> AsyncIterator[tuple[build.Engine, Sandbox]]:
    """Like ``open_policy``, with a trainer that can load checkpoints. Raises ``ConfigError`` if the model has none."""
    sandbox = build.build_sandbox(config)
    try:
        engine = await build.build_warm_engine(config, sandbox, note)
        try:
            yield engine, sandbox
        finally:
            await engine.policy.close()
    finally:
        await sandbox.close()
