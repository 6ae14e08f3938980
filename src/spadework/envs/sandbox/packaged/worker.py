"""A worker process of one package: it makes problems and judges answers, one JSON line in and one out.

    {"do": "reset" | "step" | "solution", "name", "difficulty", "seed", "action"}
    {"value": …, "tired": bool} or {"fault": [code, message, detail], "tired": bool}

A problem follows from name, difficulty and seed; the last ones are kept, so that episodes that share one make it once.
"""

from __future__ import annotations

import json
import resource
import sys
import threading
import traceback
from collections import OrderedDict
from dataclasses import asdict
from typing import Any

from spadework.envs.sandbox.forkserver.inside import kernel
from spadework.envs.sandbox.packaged.adapters import Package, PackagedProblem, load_package
from spadework.envs.sandbox.worker_process import in_child, serve, take_stdout

KEPT = 32
"""Problems kept."""
LIFE = 5_000
"""Calls after which a worker asks to be replaced; so it does once threads have leaked."""
THREADS = 8

_RAISED, _MEMORY = "ENV201", "ENV206"
_FAULTS = {"HANG": "ENV205", "DIED": "ENV208"}


class JudgementError(Exception):
    """No verdict on an answer; its arguments are one of ``_FAULTS`` and what is known of it."""


class Worker:
    """Answers requests about one package."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self._problems: OrderedDict[tuple[str, int | None, int], PackagedProblem] = OrderedDict()
        self._calls = 0

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The reply to one request; whatever the package raises is in it."""
        self._calls += 1
        try:
            reply: dict[str, Any] = {"value": self._value(request)}
        except MemoryError:
            self._problems.clear()
            reply = {"fault": [_MEMORY, "out of memory", ""]}
        except JudgementError as error:
            code, message = error.args
            reply = {"fault": [_FAULTS.get(code, _RAISED), message, ""]}
        except Exception as error:  # noqa: BLE001 - whatever a package raises is data
            told = f"{type(error).__name__}: {error}"[:500]
            reply = {"fault": [_RAISED, told, traceback.format_exc(limit=-4)[-2000:]]}
        return {**reply, "tired": self._calls >= LIFE or threading.active_count() > THREADS}

    def _value(self, request: dict[str, Any]) -> Any:
        problem = self._problem(request["name"], request["difficulty"], request["seed"])
        if request["do"] == "reset":
            return problem.question
        if request["do"] == "step":
            return _judge(problem, request["action"])
        return problem.solution()

    def _problem(self, name: str, difficulty: int | None, seed: int) -> PackagedProblem:
        key = (name, difficulty, seed)
        if key not in self._problems:
            self._problems[key] = self._package.problem(name, difficulty, seed)
            if len(self._problems) > KEPT:
                self._problems.popitem(last=False)
        self._problems.move_to_end(key)
        return self._problems[key]


def _judge(problem: PackagedProblem, answer: str) -> float:
    """The answer's pay, found in a confined child: some judges evaluate it as code, and some can hang on it.

    Raises ``JudgementError``.
    """
    if not sys.platform.startswith("linux"):  # there nothing is confined, and nothing runs without sandbox.unsafe
        return problem.judge(answer)
    reply = in_child(problem.judge, {"answer": answer})
    if "fault" in reply:
        raise JudgementError(*reply["fault"])
    return float(reply["value"])


def main() -> None:
    """``python -m spadework.envs.sandbox.packaged.worker PACKAGE MEMORY_MB``, or ``PACKAGE list``."""
    package, limit = sys.argv[1:]
    replies = take_stdout()
    sys.set_int_max_str_digits(0)  # some RLVE answers are longer than the interpreter's limit
    loaded = load_package(package)
    if limit == "list":
        json.dump([asdict(entry) for entry in loaded.entries()], replies)
        replies.flush()
        return
    _bound(int(limit))
    serve(Worker(loaded).answer, replies)


def _bound(megabytes: int) -> None:
    """Die with the host, even in the midst of a problem, and hold no more than so much beyond what importing took."""
    if not sys.platform.startswith("linux"):
        return
    kernel.prctl(kernel.PDEATHSIG, kernel.SIGKILL)
    resource.setrlimit(resource.RLIMIT_AS, (kernel.address_space() + megabytes * 2**20,) * 2)


if __name__ == "__main__":
    main()
