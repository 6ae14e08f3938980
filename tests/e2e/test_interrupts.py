"""Ctrl-C and waiting: a run that waits says for what, and one that is told to stop stops."""

from __future__ import annotations

import asyncio
import fcntl
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.runs import start_cli

from spadework.run import REQUEUE
from spadework.runs.files import lock_when_free

SLOW = ("--set", "warmup.epochs=2000", "--set", "model.threads=1")


@pytest.fixture
def warming(tmp_path: Path, cache: Path) -> Iterator[subprocess.Popen[str]]:
    """A run of the tiny model that is in the middle of a long warm-up."""
    pytest.importorskip("torch", reason="needs torch: pip install 'spadework[local]'")
    process = start_cli("train", "tiny", *SLOW, "--run", tmp_path / "run", PYTHONUNBUFFERED="1")
    read_until(process, "epochs")
    time.sleep(1)
    yield process
    process.kill()
    process.wait()


def read_until(process: subprocess.Popen[str], words: str) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if words in line:
            return line
    raise AssertionError(f"it ended without a word of {words!r}")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_warm_up_stops_within_seconds(warming: subprocess.Popen[str], tmp_path: Path, number: signal.Signals) -> None:
    warming.send_signal(number)
    began = time.monotonic()
    assert warming.stdout is not None
    said = warming.stdout.read()
    assert warming.wait(timeout=30) == (REQUEUE if number == signal.SIGTERM else 130)
    assert time.monotonic() - began < 10  # a second or two where nothing else runs
    assert "--resume" in said
    assert (tmp_path / "run").exists()


def test_a_second_signal_ends_at_once_without_a_traceback(warming: subprocess.Popen[str], capfd: object) -> None:
    for _ in range(3):
        warming.send_signal(signal.SIGINT)
        time.sleep(0.6)
    assert warming.wait(timeout=30) == 130
    assert "Traceback" not in capfd.readouterr().err  # type: ignore[attr-defined]


def test_whoever_waits_for_a_warm_up_says_so_and_can_be_stopped(tmp_path: Path, cache: Path) -> None:
    pytest.importorskip("torch", reason="needs torch: pip install 'spadework[local]'")
    first = start_cli("train", "tiny", *SLOW, "--run", tmp_path / "first", PYTHONUNBUFFERED="1")
    second = None
    try:
        read_until(first, "epochs")
        second = start_cli("train", "tiny", *SLOW, "--run", tmp_path / "second", PYTHONUNBUFFERED="1")
        assert ".lock" in read_until(second, "waiting for")
        second.send_signal(signal.SIGTERM)
        assert second.wait(timeout=10) == REQUEUE
    finally:
        for process in (first, second):
            if process is not None:
                process.kill()
                process.wait()


async def test_a_lock_is_waited_for_while_others_work(tmp_path: Path) -> None:
    path, said = tmp_path / "lock", []
    with path.open("a") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)

        async def wait() -> str:
            async with lock_when_free(path, lambda: said.append("waiting")):
                return "held"

        waiting = asyncio.create_task(wait())
        await asyncio.sleep(0.5)
        assert said == ["waiting"] and not waiting.done()
        fcntl.flock(holder, fcntl.LOCK_UN)
        assert await asyncio.wait_for(waiting, 5) == "held"
        fcntl.flock(holder, fcntl.LOCK_EX)
        waiting = asyncio.create_task(wait())
        await asyncio.sleep(0.1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
