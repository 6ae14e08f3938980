"""The background loop: results, errors and interrupts reach the caller; notebooks, forks and ends of processes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from spadework.background import BackgroundLoop, background, blocking
from spadework.errors import SpadeworkError


async def double_async(number: int) -> int:
    """Twice the number."""
    await asyncio.sleep(0)
    return 2 * number


async def fail_async() -> None:
    raise KeyError("mine")


def test_a_blocking_twin_is_called_as_its_original_and_bears_its_name():
    double = blocking(double_async)
    assert double(number=4) == 8
    assert (double.__name__, double.__doc__) == ("double", "Twice the number.")
    with pytest.raises(KeyError, match="mine"):
        blocking(fail_async)()


async def test_it_may_be_called_where_a_loop_runs_already():
    assert blocking(double_async)(3) == 6


def test_callers_of_many_threads_share_one_loop():
    seen = []

    async def where():
        return threading.current_thread().name

    threads = [threading.Thread(target=lambda: seen.append(background().run(where()))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == ["spadework"] * 4


def test_a_call_that_would_wait_for_its_own_loop_is_refused():
    async def nested():
        return blocking(double_async)(1)

    with pytest.raises(SpadeworkError, match="_async"):
        background().run(nested())


def test_an_interrupt_cancels_the_work_which_cleans_up_first():
    cleaned = []

    async def work():
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.05)
            cleaned.append(True)

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            background().run(work())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert cleaned == [True]


def test_a_task_that_exits_takes_its_caller_along_and_not_the_loop():
    async def leave():
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        background().run(leave())
    assert blocking(double_async)(2) == 4


def test_a_forked_child_has_a_loop_of_its_own():
    parents = background()
    child = os.fork()
    if child == 0:
        try:
            right = blocking(double_async)(5) == 10 and background() is not parents
            try:
                parents.run(double_async(1))
                right = False
            except SpadeworkError as error:
                right = right and "forked" in str(error)
            os._exit(0 if right else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert blocking(double_async)(5) == 10


def test_closing_cancels_what_runs_and_awaits_the_closers():
    events = []
    loop = BackgroundLoop()

    async def forever():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            events.append("cancelled")
            raise

    async def closer():
        events.append("closed")

    loop.at_close(closer)
    loop.begin(forever())
    time.sleep(0.05)
    loop.close()
    loop.close()
    assert events == ["cancelled", "closed"]
    with pytest.raises(SpadeworkError, match="closed"):
        loop.run(double_async(1))


SCRIPT = """
import os, spadework
spadework.open_session("higher_or_lower").reset(0)
left = spadework.open_episode("higher_or_lower", 0)
children = open(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read().split()
for task in os.listdir(f"/proc/{os.getpid()}/task"):
    children += open(f"/proc/{os.getpid()}/task/{task}/children").read().split()
print(*children)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_script_that_closes_nothing_ends_clean():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    children = done.stdout.split()
    assert children
    deadline = time.monotonic() + 5
    while any(os.path.exists(f"/proc/{child}") for child in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [child for child in children if os.path.exists(f"/proc/{child}")]
