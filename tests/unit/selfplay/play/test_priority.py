"""Plays start when no program is being checked, and never wait for long."""

from __future__ import annotations

import asyncio
import time

import pytest

from spadework.selfplay.play import priority
from spadework.selfplay.play.priority import CheckPriority


async def test_a_play_waits_for_the_last_of_the_checks() -> None:
    who, log = CheckPriority(), []

    async def check(seconds: float) -> None:
        with who.checking():
            await asyncio.sleep(seconds)
            log.append(seconds)

    async def play() -> None:
        await who.wait()
        log.append(0.0)

    await asyncio.gather(check(0.05), check(0.1), play())
    assert log == [0.05, 0.1, 0.0]
    with pytest.raises(ZeroDivisionError), who.checking():
        raise ZeroDivisionError
    await asyncio.wait_for(who.wait(), 0.1)


async def test_a_play_waits_no_longer_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priority, "PATIENCE", 0.05)
    who, started = CheckPriority(), time.monotonic()
    with who.checking():
        await asyncio.wait_for(who.wait(), 5)
    assert 0.04 < time.monotonic() - started < 2


def test_where_nothing_is_checked_a_play_does_not_even_yield() -> None:
    with pytest.raises(StopIteration):
        CheckPriority().wait().send(None)
