"""Maps laid out in a process of their own: what takes a minute must neither slow the page nor keep it from ending."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from typing import Any

from spadework.analysis.maps import KINDS, flatten, vectors
from spadework.errors import SpadeworkError
from spadework.policies.embedding import MINILM

LIMITS = dict.fromkeys(KINDS, 800) | {MINILM: 250}
"""Environments on a map by how their texts become vectors, spread evenly over the run: more would take minutes."""
NICE = 10
KEPT = 8
"""Maps that are kept, for who goes back to one."""


def layout(sources: Mapping[str, str], kind: str, way: str) -> dict[str, Any]:
    """Name -> place of programs by name, and what the map shows. Raises ``ConfigError``."""
    if not sources:
        return {"points": {}, "kind": kind, "way": way}
    places, taken = flatten(vectors(list(sources.values()), kind), way)
    points = {name: [round(float(x), 3), round(float(y), 3)] for name, (x, y) in zip(sources, places, strict=True)}
    return {"points": points, "kind": kind, "way": taken}


class Layouts:
    """A process that lays out maps, one after the other; it starts when it is first needed."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    async def ask(self, sources: Mapping[str, str], kind: str, way: str) -> dict[str, Any]:
        """See ``layout``. Raises ``SpadeworkError``."""
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(1, context, initializer=_step_back)
        programs = tuple(sources.items())
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, _kept_layout, programs, kind, way)
        except BrokenProcessPool:
            self._pool = None
            raise SpadeworkError("the process that lays out the map was ended; ask again") from None

    def close(self) -> None:
        """End the process, whatever it is at."""
        if self._pool is not None:
            for process in multiprocessing.active_children():
                process.terminate()
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


@lru_cache(KEPT)
def _kept_layout(sources: tuple[tuple[str, str], ...], kind: str, way: str) -> dict[str, Any]:
    return layout(dict(sources), kind, way)


def _step_back() -> None:
    """Ctrl-C is for the server to hear, and a run that trains here goes first."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(NICE)
