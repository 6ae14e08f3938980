"""Worker processes: what they know of their surroundings, and how to talk to them, one JSON line in, one out."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "XDG_CACHE_HOME", "MPLCONFIGDIR")


def worker_environment() -> dict[str, str]:
    """Variables of a worker: no keys, for what it judges may be run as code in a fork of it.

    Hash seeds are fixed, because packages draw from sets in their order; one thread, because a forked child must not
    find other threads' locks.
    """
    passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {**passed_on, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}


async def exchange(process: asyncio.subprocess.Process, request: dict[str, Any]) -> dict[str, Any] | None:
    """The worker's reply; ``None`` when it hung up, or said more than its stream's limit, instead."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(request).encode() + b"\n")
        await process.stdin.drain()
        line = await process.stdout.readline()
    except (ConnectionError, ValueError):
        return None
    if not line.endswith(b"\n"):
        return None
    reply: dict[str, Any] = json.loads(line)
    return reply
