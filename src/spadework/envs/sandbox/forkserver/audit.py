"""Looks at all instances at regular intervals: kills idle ones that burn CPU, and holds their memory to a limit."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from spadework.envs.sandbox.forkserver.inside import wire
from spadework.envs.sandbox.forkserver.instance import Instance
from spadework.envs.sandbox.forkserver.kernel_facts import POOL_MEMORY, held_bytes
from spadework.errors import ProgramError, SandboxError

if TYPE_CHECKING:
    from spadework.envs.sandbox.forkserver.client import ForkServer

PERIOD = 0.5
"""Seconds between looks."""
IDLE_CPU = 0.1
"""CPU seconds that an instance may burn from one call to the next."""
MEMORY_EVERY = 4


async def watch(sandbox: ForkServer, memory: int) -> None:
    """Look again and again until it is cancelled."""
    seen: dict[Instance, tuple[int, float]] = {}
    rounds = 0
    while True:
        await asyncio.sleep(PERIOD)
        live = sandbox.live()
        seen = check_idle(live, seen)
        rounds += 1
        if rounds % MEMORY_EVERY == 0:
            check_memory(live, memory)


def check_idle(live: list[Instance], seen: dict[Instance, tuple[int, float]]) -> dict[Instance, tuple[int, float]]:
    """Kill instances that ran on after their reply.

    Args:
        live: all instances.
        seen: what the last look gave: how often each had been called, and its CPU clock at the first look since then.
    """
    now: dict[Instance, tuple[int, float]] = {}
    for instance in live:
        if instance.busy or not instance.pid:
            continue
        calls, cpu = instance.calls + instance.forks, instance.cpu()
        before = seen.get(instance)
        since = before if before is not None and before[0] == calls else (calls, cpu)
        now[instance] = since
        if cpu - since[1] > IDLE_CPU:
            burnt = f"{cpu - since[1]:.2f} CPU seconds"
            instance.fail(ProgramError(wire.HANG, f"ran on after its reply: {burnt} while nobody asked it anything"))
    return now


def check_memory(live: list[Instance], most: int) -> None:
    """Kill the largest instance if all together hold more than ``most`` bytes to themselves."""
    sizes = {each: max(0, held_bytes(each.pid) - each.shared_bytes) for each in live if each.pid}
    total = sum(sizes.values())
    if total > most:
        largest = max(sizes, key=lambda instance: sizes[instance])
        held = f"the pool held {total >> 20} MiB of {most >> 20}"
        largest.fail(SandboxError(POOL_MEMORY, f"{held}; this instance was the largest, {sizes[largest] >> 20} MiB"))
