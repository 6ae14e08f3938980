"""Units that lead to one another, with and without the barrier."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from typing import Any

import pytest

from spadework.selfplay.pipeline import Pipeline


def chain(pipeline: Pipeline, log: list[Any], name: int, delays: list[float]) -> None:
    """A unit that leads to another, and so on."""

    async def work() -> int:
        log.append(("begin", name, len(delays)))
        await asyncio.sleep(delays[0])
        return name

    def then(result: int) -> None:
        log.append(("end", result, len(delays)))
        if delays[1:]:
            chain(pipeline, log, name, delays[1:])

    pipeline.add((name, -len(delays)), work, then)


async def run(barrier: bool, *chains: list[float]) -> list[Any]:
    log: list[Any] = []
    pipeline = Pipeline(barrier=barrier, together=nullcontext)
    for name, delays in enumerate(chains):
        chain(pipeline, log, name, delays)
    assert await pipeline.run()
    return log


async def test_nothing_waits_for_what_it_does_not_need() -> None:
    log = await run(False, [0.2, 0.0], [0.0, 0.0])
    assert log.index(("end", 1, 1)) < log.index(("end", 0, 2))


@pytest.mark.parametrize("slow", [0, 1])
async def test_with_a_barrier_the_order_is_that_of_the_keys_whoever_is_quick(slow: int) -> None:
    delays = [[0.05, 0.0] if name == slow else [0.0, 0.05] for name in (0, 1)]
    assert await run(True, *delays) == [
        ("begin", 0, 2), ("begin", 1, 2), ("end", 0, 2), ("end", 1, 2), ("begin", 0, 1), ("begin", 1, 1), ("end", 0, 1), ("end", 1, 1),
    ]  # fmt: skip


async def test_dropped_units_end_and_tell_nobody() -> None:
    pipeline = Pipeline(barrier=False, together=nullcontext)
    told: list[Any] = []
    ended = []

    async def long() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("long")

    unit = pipeline.add((1,), long, told.append)
    pipeline.add((0,), lambda: asyncio.sleep(0.01), lambda _: pipeline.drop([unit]))
    assert await pipeline.run()
    assert (told, ended) == ([], ["long"])


@pytest.mark.parametrize("barrier", [True, False])
async def test_an_error_ends_all_and_is_raised(barrier: bool) -> None:
    pipeline = Pipeline(barrier=barrier, together=nullcontext)
    ended = []

    async def long() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("long")

    async def fails() -> None:
        raise OSError("no more")

    pipeline.add((0,), long, lambda _: None)
    pipeline.add((1,), fails, lambda _: None)
    with pytest.raises(OSError, match="no more"):
        await asyncio.wait_for(pipeline.run(), 5)
    assert ended == ["long"]


async def test_the_deadline_leaves_running_what_runs() -> None:
    pipeline = Pipeline(barrier=False, together=nullcontext)
    told: list[Any] = []
    unit = pipeline.add((0,), lambda: asyncio.sleep(0.3, "late"), told.append)
    end = asyncio.get_running_loop().time() + 0.05
    assert not await pipeline.run(lambda: end)
    assert unit.task is not None
    await pipeline.stop(keep={unit.task})
    assert await unit.task == "late"
    assert told == []
