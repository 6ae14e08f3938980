"""The program that runs a candidate solution inside the sandbox. It is given inputs and never an expected output.

This module is never imported. Its text becomes a sandbox program once definitions of ``CANDIDATE`` (the solution's
source), ``ENTRY`` (the method to call) and ``LIMIT`` (characters of output) are put in front of it.
"""

import contextlib
import io
import json
import sys

FROM_STAR = (
    "string re datetime collections heapq bisect copy math random statistics itertools functools operator io sys json "
    "typing"
).split()


def names():
    """The names that a solution can use without importing them, as in the benchmark's own harness."""
    found = {"__name__": "__main__", "exit": sys.exit, "quit": sys.exit}
    for module in FROM_STAR:
        exec(f"import {module}\nfrom {module} import *", found)
    exec("import string, re, datetime, collections, heapq, bisect, copy, math, random, statistics, itertools", found)
    exec("import functools, operator, io, sys, json\nfrom typing import *", found)
    return found


class Input(io.StringIO):
    """Standard input as text and, under ``buffer``, as bytes."""

    def __init__(self, text):
        super().__init__(text)
        self.buffer = io.BytesIO(text.encode())

    def fileno(self):
        return 0


class Output(io.StringIO):
    """Standard output, of which no more than ``LIMIT`` characters are kept."""

    def __init__(self):
        super().__init__()
        self.buffer = _Bytes(self)
        self.left = LIMIT

    def write(self, text):
        super().write(text[: self.left])
        self.left -= min(len(text), self.left)
        return len(text)


class _Bytes:
    def __init__(self, text):
        self.text = text

    def write(self, data):
        self.text.write(bytes(data).decode(errors="replace"))
        return len(data)

    def flush(self):
        pass


class CandidateEnv:
    max_turns = 1_000_000

    def reset(self, seed=None):
        self.code = compile(CANDIDATE, "solution.py", "exec", dont_inherit=True)
        sys.setrecursionlimit(50_000)
        return "ready", {}

    def step(self, action):
        return self.by_call(json.loads(action)) if ENTRY else self.by_text(action)

    def by_text(self, text):
        """Run the solution as a script."""
        sys.stdin, sys.stdout = Input(text), Output()
        given, printed = sys.stdin, sys.stdout
        space = names()
        space["open"] = lambda file=0, *_, **__: given if file == 0 else Input("")
        with contextlib.suppress(SystemExit):
            exec(self.code, space)
        return printed.getvalue() or " ", 0.0, False, False, {}

    def by_call(self, arguments):
        """Call the method of the solution that the problem names."""
        sys.stdout = Output()
        space = names()
        exec(self.code, space)
        owner = space["Solution"]() if "Solution" in space else None
        entry = getattr(owner, ENTRY) if owner is not None else space[ENTRY]
        result = entry(*arguments)
        return json.dumps(result, default=list)[:LIMIT], 0.0, False, False, {}
