"""Talking to a worker process: one JSON line in, one out."""

from __future__ import annotations

import asyncio
import json
from typing import Any


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
