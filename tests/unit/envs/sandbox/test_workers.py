"""The pool of worker processes: whatever becomes of one, the next request has an answer of its own."""

import asyncio
import os
import resource
import sys
import time

import pytest

from spadework.envs.sandbox import worker_process, workers
from spadework.envs.sandbox.confined import ConfinedGrader
from spadework.envs.sandbox.forkserver.inside import wire
from spadework.envs.sandbox.workers import WorkerEndedError, WorkerPool, WorkerStartError
from spadework.errors import GraderError

WORKER = """
import os, time
from spadework.envs.sandbox.worker_process import serve, take_stdout

replies = take_stdout()
print("what a package prints is no reply")


def answer(request):
    if request["do"] == "sleep":
        time.sleep(request["seconds"])
    if request["do"] == "exit":
        os._exit(request["status"])
    if request["do"] == "talk":
        return {"value": "x" * request["length"]}
    return {"value": [request["do"], os.getpid()], "tired": request["do"] == "retire"}


serve(answer, replies)
"""


def pool(command=None, *, start=30.0, size=1):
    return WorkerPool(command or [sys.executable, "-c", WORKER], start, size)


async def pid_of(made: WorkerPool, key: str = "k") -> int:
    return (await made.ask(key, {"do": "hello"}, 30.0))["value"][1]


async def test_one_key_has_one_worker_and_several_work_at_once():
    made = pool(size=2)
    try:
        assert await pid_of(made, "a") == await pid_of(made, "a") == made.pid("a")
        keys = {made.pid(key) or await pid_of(made, key): key for key in map(str, range(16))}
        assert len(keys) == 2
        began = time.monotonic()
        await asyncio.gather(*(made.ask(key, {"do": "sleep", "seconds": 1.0}, 30.0) for key in keys.values()))
        assert time.monotonic() - began < 1.9
    finally:
        await made.close()


async def test_a_late_worker_is_replaced_and_its_request_is_remembered():
    made = pool()
    try:
        first = await pid_of(made)
        slow = {"do": "sleep", "seconds": 60}
        began = time.monotonic()
        late = await asyncio.gather(*(made.ask("k", slow, 0.5) for _ in range(8)), return_exceptions=True)
        assert all(isinstance(error, TimeoutError) for error in late)
        assert time.monotonic() - began < 2.0, "seven of eight did not wait"
        assert await pid_of(made) != first
    finally:
        await made.close()


async def test_a_dead_worker_tells_its_status_and_is_replaced():
    made = pool()
    try:
        with pytest.raises(WorkerEndedError) as ended:
            await made.ask("k", {"do": "exit", "status": 7}, 30.0)
        assert ended.value.status == 7
        assert await pid_of(made)
    finally:
        await made.close()


async def test_a_reply_that_is_too_long_is_not_read(monkeypatch):
    monkeypatch.setattr(workers, "LONGEST_REPLY", 1_000)
    made = pool()
    try:
        assert (await made.ask("k", {"do": "talk", "length": 500}, 30.0))["value"] == "x" * 500
        with pytest.raises(WorkerEndedError, match="too long"):
            await made.ask("k", {"do": "talk", "length": 5_000}, 30.0)
        assert await pid_of(made)
    finally:
        await made.close()


async def test_a_cancelled_request_leaves_no_reply_behind():
    made = pool()
    try:
        await pid_of(made)
        asked = asyncio.create_task(made.ask("k", {"do": "sleep", "seconds": 0.3}, 30.0))
        await asyncio.sleep(0.1)
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
        assert (await made.ask("k", {"do": "hello"}, 30.0))["value"][0] == "hello"
    finally:
        await made.close()


async def test_a_tired_worker_is_replaced():
    made = pool()
    try:
        tired = (await made.ask("k", {"do": "retire"}, 30.0))["value"][1]
        assert await pid_of(made) != tired
    finally:
        await made.close()


@pytest.mark.parametrize(
    ("program", "said"), [("import time; time.sleep(60)", "not ready within"), ("raise SystemExit(3)", "status 3")]
)
async def test_a_worker_that_does_not_start_says_so(program, said):
    made = pool([sys.executable, "-c", program], start=5.0 if "status" in said else 0.5)
    with pytest.raises(WorkerStartError, match=said):
        await made.ask("k", {"do": "hello"}, 30.0)
    with pytest.raises(WorkerStartError, match="No such file"):
        await pool(["/no/such/interpreter"]).ask("k", {"do": "hello"}, 30.0)


async def test_a_closed_pool_starts_nothing():
    made = pool()
    await pid_of(made)
    waiting = [asyncio.create_task(made.ask("k", {"do": "sleep", "seconds": 60}, 30.0)) for _ in range(2)]
    await asyncio.sleep(0.1)
    await made.close()
    first, second = await asyncio.gather(*waiting, return_exceptions=True)
    assert isinstance(first, WorkerEndedError)
    assert isinstance(second, WorkerStartError)
    assert made.pid("k") is None


async def test_a_start_waits_for_descriptors():
    made, held = pool(), []
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            while True:
                held.append(os.open("/dev/null", os.O_RDONLY))
        asked = asyncio.create_task(pid_of(made))
        await asyncio.sleep(0.5)
        assert not asked.done()
        while held:
            os.close(held.pop())
        assert await asked == made.pid("k")
    finally:
        while held:
            os.close(held.pop())
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        await made.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the confinement is made of Linux's own")
def test_a_child_that_says_a_byte_now_and_then_is_late_all_the_same(monkeypatch):
    monkeypatch.setattr(worker_process, "WALL_SECONDS", 1.0)

    def dribble(text: str) -> float:
        while True:
            os.write(wire.SOCKET, b" ")
            time.sleep(0.03)

    began = time.monotonic()
    fault, message = worker_process.in_child(dribble, {"text": ""})["fault"]
    assert fault == "HANG", message
    assert 1.0 <= time.monotonic() - began < 5.0


async def test_a_grader_that_cannot_be_loaded_is_a_grader_fault():
    grader = ConfinedGrader("spadework.no_such_module", workers=1)
    with pytest.raises(GraderError, match=r"DIED: sums: .*status 1"):
        await grader.prepare("sums")
    await grader.close()
