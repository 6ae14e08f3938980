"""The workers' side of ``workers``: a loop that answers requests, and confined children that judge untrusted text.

``python -m spadework.envs.sandbox.worker_process MODULE`` serves a grader's module (``confined``). MODULE has
``prepare(**asked)``, which runs in the worker, and ``judge(text, **asked)``, which runs in a child that can open no
file, no socket and no process.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import socket
import sys
import time
import traceback
from collections.abc import Callable
from typing import IO, Any, NoReturn

from spadework.envs.sandbox.forkserver.kernel_facts import cpu_seconds

MEMORY = 1 << 30
"""Address space of a child beyond the worker's."""
CPU_SECONDS, WALL_SECONDS = 3.0, 60.0
"""What one judgement may take."""
_LONGEST = 1 << 16
"""Bytes of a verdict."""
_LOOK = 0.05
"""Seconds between looks at a child that says nothing."""


def take_stdout() -> IO[str]:
    """The stream of replies. What anything prints from now on goes to standard error: it is no reply."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return replies


def serve(answer: Callable[[dict[str, Any]], dict[str, Any]], replies: IO[str]) -> None:
    """Answer the requests of standard input until it ends: one JSON line each, and one back."""
    for line in sys.stdin:
        request = json.loads(line)
        reply = {"value": None} if request["do"] == "ready" else answer(request)
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


def main() -> None:
    """Serve a grader's module."""
    replies = take_stdout()
    module = importlib.import_module(sys.argv[1])

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        do = request.pop("do")
        try:
            return {"value": module.prepare(**request)} if do == "prepare" else in_child(module.judge, request)
        except Exception as error:  # noqa: BLE001 - whatever a package raises is data
            return _fault(error)

    serve(answer, replies)


def in_child(judge: Callable[..., Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """Fork, let the child confine itself and judge, and believe only JSON of modest length.

    Gives ``{"value": …}``, or ``{"fault": [code, message]}`` with HANG, DIED or RAISED.
    """
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        ours.close()
        _judge(theirs.detach(), judge, arguments)
    theirs.close()
    data, late = _receive(ours, child)
    ours.close()
    os.kill(child, 9)  # one that hung up may still run
    os.waitpid(child, 0)
    if late:
        return {"fault": ["HANG", f"no verdict within {CPU_SECONDS:g} CPU seconds and {WALL_SECONDS:g} s in all"]}
    try:
        reply = json.loads(data)
        return {key: reply[key] for key in ("value", "fault") if key in reply} or {"fault": ["DIED", "no verdict"]}
    except (ValueError, TypeError):
        return {"fault": ["DIED", "the grader died over this answer"]}


def _receive(sock: socket.socket, child: int) -> tuple[bytes, bool]:
    """All that the child says until it hangs up, and whether it took too long.

    One deadline holds for all of it, and is looked at after every read: a child that sends a byte now and then would
    otherwise be never late.
    """
    data, deadline = b"", time.monotonic() + WALL_SECONDS
    while len(data) < _LONGEST:
        ready, _, _ = select.select([sock], [], [], _LOOK)
        if ready:
            more = sock.recv(_LONGEST)
            if not more:
                return data, False
            data += more
        if cpu_seconds(child) > CPU_SECONDS or time.monotonic() > deadline:
            return data, True
    return data, True


def _judge(sock: int, judge: Callable[..., Any], arguments: dict[str, Any]) -> NoReturn:
    from spadework.envs.sandbox.forkserver.inside import confine, wire

    where = sock
    try:
        confine.confine(sock, MEMORY)
        where = wire.SOCKET
        said = json.dumps({"value": judge(**arguments)})
    except BaseException as error:  # noqa: BLE001 - the parent is told, whatever it was
        said = json.dumps(_fault(error))
    try:
        os.write(where, said.encode())
    finally:
        os._exit(0)  # and never on into the parent's own code


def _fault(error: BaseException) -> dict[str, Any]:
    where = traceback.extract_tb(error.__traceback__)[-1:]
    place = f" ({os.path.basename(where[0].filename)}:{where[0].lineno})" if where else ""
    return {"fault": ["RAISED", f"{type(error).__name__}: {error}"[:400] + place]}


if __name__ == "__main__":
    main()
