"""How long a call may take, and how to wait for the first of several events: what every call of an instance pays."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class CallClock:
    """Judges calls, one after the other, by the CPU and the wall seconds that each takes.

    Args:
        cpu: the CPU seconds that the child has burnt.
        wall_seconds: wall seconds that a call may take.
        late: is told once that a call took too long: why, and whether by CPU (``burnt``) or by wall seconds.
    """

    def __init__(self, cpu: Callable[[], float], wall_seconds: float, late: Callable[..., None]) -> None:
        self.reads_cpu = True
        """Whether the host can read the child's CPU seconds; if not, limits on them are held to wall seconds."""
        self._cpu, self._wall_seconds, self._late = cpu, wall_seconds, late
        self._loop = asyncio.get_running_loop()
        self._running = False
        self._began = self._cpu_before = self._allowed = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self, cpu_seconds: float) -> None:
        """A call begins that may burn ``cpu_seconds``."""
        self._running, self._allowed = True, cpu_seconds
        self.restart()

    def restart(self) -> None:
        """The call goes on, and may take as long as it could at its start."""
        self._began, self._cpu_before = self._loop.time(), self._cpu()
        due = self._began + min(self._allowed, self._wall_seconds)
        # A timer outlives its call, because setting one is dear: most find nothing to judge.
        if self._timer is None or self._timer.when() > due:
            self._judge_at(due)

    def stop(self) -> None:
        """The call has its answer."""
        self._running = False

    def close(self) -> None:
        """Judge nothing any more."""
        self._running = False
        # Both point back to what owns this clock: without them it is freed at once, not at the next collection.
        del self._cpu, self._late
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _judge_at(self, due: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(due, self._judge)

    def _judge(self) -> None:
        """Runs at the earliest moment at which the call can have used up its CPU or its wall time."""
        self._timer = None
        if not self._running:
            return
        passed = self._loop.time() - self._began
        used = self._cpu() - self._cpu_before if self.reads_cpu else passed
        if used >= self._allowed:
            clock = "CPU" if self.reads_cpu else "wall"
            self._late(f"{used:.3f} {clock} seconds in one call; the limit is {self._allowed}", burnt=True)
        elif passed >= self._wall_seconds:
            self._late(f"no answer within {self._wall_seconds} seconds", burnt=False)
        else:
            wait = min(self._allowed - used, self._wall_seconds - passed)
            self._judge_at(self._loop.time() + max(wait, 0.001))


def settle(future: asyncio.Future[int]) -> None:
    """Give a future its result, if it has none."""
    if not future.done():
        future.set_result(0)


async def first_of(seconds: float | None, *futures: asyncio.Future[int]) -> None:
    """Wait for any of ``futures``, for so long: ``asyncio.wait`` at a third of its cost, which every start pays."""
    if any(future.done() for future in futures):
        return
    woken: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    timer = None if seconds is None else woken.get_loop().call_later(seconds, settle, woken)
    for future in futures:
        future.add_done_callback(lambda _: settle(woken))
    try:
        await woken
    finally:
        if timer is not None:
            timer.cancel()
