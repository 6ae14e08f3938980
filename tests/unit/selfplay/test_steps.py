"""Steps that coroutines wait for, at once and in waves."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from typing import Any

import pytest

from spadework.selfplay.steps import Step, Steps


async def chain(steps: Steps, log: list[Any], name: int, delays: list[float]) -> None:
    """A coroutine that asks for one step after another."""

    async def work(left: int, delay: float) -> int:
        log.append(("begin", name, left))
        await asyncio.sleep(delay)
        return name

    for place, delay in enumerate(delays):
        left = len(delays) - place
        result = await steps.run((name, place), lambda left=left, delay=delay: work(left, delay))  # type: ignore[misc]
        log.append(("end", result, left))


async def run(waves: bool, *chains: list[float]) -> list[Any]:
    log: list[Any] = []
    steps = Steps(waves=waves, together=nullcontext)
    async with asyncio.TaskGroup() as group:
        for name, delays in enumerate(chains):
            steps.spawn(group, chain(steps, log, name, delays))
    return log


async def test_nothing_waits_for_what_it_does_not_need() -> None:
    log = await run(False, [0.2, 0.0], [0.0, 0.0])
    assert log.index(("end", 1, 1)) < log.index(("end", 0, 2))


@pytest.mark.parametrize("slow", [0, 1])
async def test_in_waves_the_order_is_that_of_the_keys_whoever_is_quick(slow: int) -> None:
    delays = [[0.05, 0.0] if name == slow else [0.0, 0.05] for name in (0, 1)]
    assert await run(True, *delays) == [
        ("begin", 0, 2), ("begin", 1, 2), ("end", 0, 2), ("end", 1, 2), ("begin", 0, 1), ("begin", 1, 1), ("end", 0, 1), ("end", 1, 1),
    ]  # fmt: skip


async def test_a_wave_waits_for_a_coroutine_that_has_just_begun() -> None:
    steps, log = Steps(waves=True, together=nullcontext), []

    async def work(name: str) -> None:
        log.append(name)

    async def parent(group: asyncio.TaskGroup) -> None:
        steps.spawn(group, child())
        await steps.run((1,), lambda: work("parent"))

    async def child() -> None:
        await steps.run((0,), lambda: work("child"))

    async with asyncio.TaskGroup() as group:
        steps.spawn(group, parent(group))
    assert log == ["child", "parent"]


async def test_dropped_steps_end_and_trouble_nobody() -> None:
    steps, ended = Steps(waves=False, together=nullcontext), []

    async def long() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("long")
            raise OSError("no longer of interest")

    async def coroutine() -> None:
        step: Step[None] = steps.start((1,), long)
        await steps.run((0,), lambda: asyncio.sleep(0.01))
        steps.drop([step])
        await steps.run((2,), lambda: asyncio.sleep(0.01))

    async with asyncio.TaskGroup() as group:
        steps.spawn(group, coroutine())
    assert ended == ["long"]


@pytest.mark.parametrize("waves", [True, False])
async def test_an_error_ends_all_and_is_raised(waves: bool) -> None:
    steps, ended = Steps(waves=waves, together=nullcontext), []

    async def long() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("long")

    async def fails() -> None:
        raise OSError("no more")

    async def both() -> None:
        async with asyncio.TaskGroup() as group:
            steps.spawn(group, steps.run((0,), long))
            steps.spawn(group, steps.run((1,), fails))

    with pytest.raises(ExceptionGroup) as caught:
        await asyncio.wait_for(both(), 5)
    await steps.stop()
    assert ended == ["long"]
    assert caught.group_contains(OSError, match="no more")


async def test_stop_leaves_running_what_is_kept() -> None:
    steps = Steps(waves=False, together=nullcontext)
    step = steps.start((0,), lambda: asyncio.sleep(0.1, "late"))
    other = steps.start((1,), lambda: asyncio.sleep(60))
    await asyncio.sleep(0)
    assert step.task is not None and other.task is not None
    await steps.stop(keep={step.task})
    assert (await step.task, other.task.cancelled()) == ("late", True)
