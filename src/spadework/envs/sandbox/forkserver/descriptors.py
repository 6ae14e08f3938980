"""What happens when the host has no descriptor left: opens wait for others to end instead of failing."""

from __future__ import annotations

import asyncio
import contextlib
import errno
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

from spadework.envs.sandbox.forkserver.kernel_facts import BROKEN, NO_START
from spadework.errors import SandboxError

T = TypeVar("T")
LEAST = 64
"""Descriptors without which no sandbox is started: what waits for one would hold those that it waits for."""
RETRY_SECONDS = 0.02
HOPELESS_SECONDS = 5.0
"""Wall seconds of waiting after which an open fails, if nothing of the sandbox is left that could end."""
GIVE_UP_SECONDS = 20.0
"""Wall seconds after which it fails in any case: those that hold descriptors may be waiting for this very open."""


def allow(instances: int) -> int:
    """Raise the soft limit as far as so many instances need, each a socket of ours, and the hard limit lets us.

    Gives the new limit. Zygotes, which are started afterwards, inherit it.

    Raises:
        SandboxError: the hard limit is below ``LEAST``.
    """
    import resource  # Windows has none, and runs programs unconfined

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    endless = resource.RLIM_INFINITY
    wanted = soft if soft == endless else max(soft, 2 * instances + 256)
    wanted = wanted if hard == endless else min(wanted, hard)
    if wanted != endless and wanted < LEAST:
        raise SandboxError(
            BROKEN, f"only {wanted} files may be open at once, and the sandbox needs {LEAST}; raise `ulimit -n`"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return 1 << 20 if wanted == endless else wanted


class OutOfDescriptors(SandboxError):
    """No descriptor is left for another instance, for now."""


@contextlib.contextmanager
def opening() -> Iterator[None]:
    """Turn an ``OSError`` of what opens descriptors into a fault: ``OutOfDescriptors`` where waiting may help."""
    try:
        yield
    except OSError as error:
        kind = OutOfDescriptors if error.errno in (errno.EMFILE, errno.ENFILE) else SandboxError
        raise kind(NO_START, f"no descriptor for another instance: {error.strerror}; raise `ulimit -n`") from None


class Queue:
    """Opens that found no descriptor; they try again one after the other, or all would race for each that is freed."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def run(self, attempt: Callable[[], Awaitable[T]], make_room: Callable[[], bool]) -> T:
        """The result of ``attempt``, which is repeated while it raises ``OutOfDescriptors``.

        Args:
            attempt: what opens descriptors.
            make_room: lets go of what is not needed; whether anything is left that may end and free a descriptor.
        """
        with contextlib.suppress(OutOfDescriptors):
            return await attempt()
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with self._turn:
            hopeless_since = loop.time()
            while True:
                if make_room():
                    hopeless_since = loop.time()
                await asyncio.sleep(RETRY_SECONDS)
                try:
                    return await attempt()
                except OutOfDescriptors:
                    now = loop.time()
                    if now - hopeless_since > HOPELESS_SECONDS or now - began > GIVE_UP_SECONDS:
                        raise
