"""Pools of worker processes that answer requests, one JSON line in and one out (their side is ``worker_process``)."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from spadework.types import derive_seed

LONGEST_REPLY = 1 << 24
"""Bytes of one reply."""
READY = '{"do": "ready"}'
"""The first request, which a worker answers once it is loaded."""
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "XDG_CACHE_HOME", "MPLCONFIGDIR")
_SCARCE = (errno.EMFILE, errno.ENFILE, errno.EAGAIN)
"""Errors of a machine that is out of descriptors or processes for the moment."""
_PAUSE = 0.1
"""Seconds between tries to start a process on such a machine."""


class WorkerEndedError(Exception):
    """A worker ended, or broke the protocol, in place of a reply.

    ``status`` is its exit status, negative for a signal; ``None`` where the reply was longer than ``LONGEST_REPLY``.
    """

    def __init__(self, status: int | None) -> None:
        said = "its reply is too long" if status is None else f"it ended with status {status}"
        super().__init__(said)
        self.status = status


class WorkerStartError(Exception):
    """A worker did not start, or its pool is closed."""


class WorkerPool:
    """Some processes of one command, each started when it is first needed, and again after it was late or died.

    Args:
        command: what starts a worker, which answers ``READY`` first.
        start_seconds: wall seconds until that answer.
        size: processes; by default one a core, four at most.
    """

    def __init__(self, command: Sequence[str], start_seconds: float, size: int | None = None) -> None:
        count = size or min(4, os.cpu_count() or 1)
        self._workers = [_Worker(command, start_seconds) for _ in range(count)]

    async def ask(self, key: str, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """The reply to ``request``. Requests of one ``key`` go to the same worker, which may keep what it made.

        A worker that is late is killed. So is one that asks for it by ``"tired": true`` in its reply, and one whose
        caller was cancelled: its reply would be taken for the next request's.

        Raises:
            TimeoutError: no reply within ``seconds`` of the worker's turn, now or when the same was asked before.
            WorkerEndedError: the worker died over the request.
            WorkerStartError: no worker could be started.
        """
        return await self._of(key).ask(request, seconds)

    def pid(self, key: str) -> int | None:
        """The process that answers requests of ``key``; ``None`` where it is not running."""
        process = self._of(key).process
        return process.pid if process else None

    async def close(self) -> None:
        """Kill all workers; whoever asks afterwards gets ``WorkerStartError``."""
        await asyncio.gather(*(worker.close() for worker in self._workers))

    def _of(self, key: str) -> _Worker:
        return self._workers[derive_seed(0, key) % len(self._workers)]


class _Worker:
    """One process and its successors, asked one thing at a time."""

    def __init__(self, command: Sequence[str], start_seconds: float) -> None:
        self._command, self._start_seconds = command, start_seconds
        self._turn = asyncio.Lock()
        self._closed = False
        self._late: set[str] = set()
        self.process: asyncio.subprocess.Process | None = None

    async def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        line = json.dumps(request)
        async with self._turn:
            if line in self._late:  # episodes share a problem that hangs: no use in waiting once for each of them
                raise TimeoutError
            process = self.process or await self._start()
            try:
                async with asyncio.timeout(seconds):
                    reply = await _exchange(process, line)
            except TimeoutError:
                self._late.add(line)
                await self._kill()
                raise
            except BaseException:  # it died, or nobody waits any more
                await self._kill()
                raise
            if reply.pop("tired", False) or self._closed:
                await self._kill()
            return reply

    async def close(self) -> None:
        self._closed = True
        await self._kill()

    async def _start(self) -> asyncio.subprocess.Process:
        if self._closed:
            raise WorkerStartError("the pool is closed")
        try:
            async with asyncio.timeout(self._start_seconds):
                self.process = process = await _spawn(self._command)
                await _exchange(process, READY)
        except TimeoutError:
            await self._kill()
            raise WorkerStartError(f"a worker was not ready within {self._start_seconds:g} s") from None
        except (OSError, WorkerEndedError) as error:
            await self._kill()
            raise WorkerStartError(f"a worker did not start: {error}") from None
        except BaseException:
            await self._kill()
            raise
        return process

    async def _kill(self) -> None:
        process, self.process = self.process, None
        if process is not None and process.returncode is None:
            process.kill()
            await process.wait()


def worker_environment() -> dict[str, str]:
    """Variables of a worker: no keys, for what it judges may be run as code in a fork of it.

    Hash seeds are fixed, because packages draw from sets in their order; one thread, because a forked child must not
    find other threads' locks.
    """
    passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {**passed_on, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}


async def _spawn(command: Sequence[str]) -> asyncio.subprocess.Process:
    """Start a process, and wait for descriptors where the machine has none left. Raises ``OSError``."""
    while True:
        try:
            return await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env=worker_environment(),
                limit=LONGEST_REPLY,
            )
        except OSError as error:
            if error.errno not in _SCARCE:
                raise
            await asyncio.sleep(_PAUSE)


async def _exchange(process: asyncio.subprocess.Process, request: str) -> dict[str, Any]:
    """Send a request and read the reply. Raises ``WorkerEndedError``."""
    assert process.stdin is not None
    assert process.stdout is not None
    line = b""
    try:
        process.stdin.write(request.encode() + b"\n")
        await process.stdin.drain()
        line = await process.stdout.readline()
    except ConnectionError:
        pass  # it hung up, and its status says why
    except ValueError:  # how a stream reader says that a line exceeds its limit
        raise WorkerEndedError(None) from None
    if not line.endswith(b"\n"):
        raise WorkerEndedError(await process.wait())
    reply: dict[str, Any] = json.loads(line)
    return reply
