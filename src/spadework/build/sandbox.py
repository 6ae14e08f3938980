"""Where programs run, and what each may use."""

from __future__ import annotations

import sys

from spadework.config import RunConfig
from spadework.envs.sandbox.base import Limits, Sandbox
from spadework.envs.sandbox.forkserver.client import ForkServer, PoolLimits
from spadework.envs.sandbox.packaged.sandbox import PackagedSandbox
from spadework.envs.sandbox.process import ProcessSandbox
from spadework.errors import ConfigError, SandboxError


def build_sandbox(config: RunConfig) -> Sandbox:
    """The sandbox of ``sandbox.type``, and workers for the environments of packages."""
    settings = config.sandbox
    if settings.type == "process" or (settings.unsafe and not sys.platform.startswith("linux")):
        return PackagedSandbox(ProcessSandbox(unsafe=settings.unsafe))
    pool = PoolLimits(instances=settings.max_instances, memory_mb=settings.max_memory_mb)
    if settings.type == "ray":
        from spadework.envs.sandbox.ray import RaySandbox

        return PackagedSandbox(
            RaySandbox(settings.ray_address, pool=pool, require=settings.require, unsafe=settings.unsafe)
        )
    return PackagedSandbox(ForkServer(pool, require=settings.require, unsafe=settings.unsafe))


async def check_sandbox(sandbox: Sandbox) -> None:
    """Start it once, so that a host that cannot confine anything is told at once. Raises ``ConfigError``."""
    try:
        session = await sandbox.open(
            "class ReadyEnv:\n    def reset(self, seed=None):\n        return 'ready'\n", Limits()
        )
        await session.close()
    except SandboxError as error:
        raise ConfigError(str(error.fault.message)) from error


def build_limits(config: RunConfig) -> Limits:
    """What an instance may use."""
    return Limits(
        cpu_seconds=config.sandbox.cpu_seconds,
        load_seconds=config.sandbox.load_seconds,
        wall_seconds=config.sandbox.wall_seconds,
        memory_mb=config.sandbox.memory_mb,
        reward_bound=config.validation.reward_bound,
        max_turns=config.play.max_turns,
    )
