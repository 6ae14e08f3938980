"""Loads one program and serves its environment; every child runs this loop.

It shares its interpreter with the program, so it is no boundary: a program may break it and forge what it says of
itself. The host believes only what it has checked, and the kernel keeps the rest away.
"""

from __future__ import annotations

import base64
import contextlib
import inspect
import io
import json
import linecache
import marshal
import os
import sys
import traceback
import types
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from . import checks, virtual, wire
from .checks import Problem

MODULE = "env_program"
FILE = "env_program.py"
LEVEL = "DIFFICULTY"
REHEARSAL = """
class RehearsalEnv:
    def reset(self, seed=None):
        return "One.", {}

    def step(self, action):
        return "Two.", 0.5, False, False, {"three": 3}
"""
_exit, _read, _write = os._exit, os.read, os.write

Answer = tuple[int, float, str, bytes]
"""Flags, reward, observation, and what else is told."""


class Nowhere(io.TextIOBase):
    """A stream that discards what a program prints."""

    def writable(self) -> bool:
        """Return that it can be written to."""
        return True

    def write(self, text: str, /) -> int:
        """Discard ``text``."""
        return len(text)


class Runner:
    """Holds one program and its environment, and carries out the host's requests."""

    def __init__(self, prelude: dict[str, Any], bases: list[str]) -> None:
        self.prelude = prelude
        self.bases = frozenset(bases)
        self.limits: dict[str, Any] = {}
        self.env: Any = None
        self.seeding: Callable[[Callable[..., Any], int], Any] = _by_keyword

    def compile(self, body: bytes) -> tuple[str, bytes]:
        """Source to marshalled code."""
        told = checks.encode({"code": base64.b64encode(marshal.dumps(_compile(body.decode()))).decode()}).encode()
        if len(told) > wire.MAX_CODE:
            raise Problem(wire.NO_SYNTAX, f"the program compiles to {len(told)} bytes; the limit is {wire.MAX_CODE}")
        return "", told

    def load(self, body: bytes) -> tuple[str, bytes]:
        """Run the program's module and build its environment.

        Body: four bytes of length, JSON of that length, marshalled code if the host has it.
        """
        size = int.from_bytes(body[:4], "little")
        meta = json.loads(body[4 : 4 + size])
        source, code = meta["source"], body[4 + size :]
        self.limits = meta["limits"]
        linecache.cache[FILE] = (len(source), None, source.splitlines(True), FILE)
        program = marshal.loads(code) if code else _compile(source)
        module = types.ModuleType(MODULE)
        module.__file__ = FILE
        module.__dict__.update(self.prelude)
        sys.modules[MODULE] = module
        virtual.reseed(0)
        try:
            exec(program, module.__dict__)
            self.env = self._build(module.__dict__)
        except Problem:
            raise
        except MemoryError:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a program raises is its fault
            raise Problem(wire.NO_START, f"the program does not load: {_brief(error)}", _trace(error)) from None
        self.seeding = _seeding(self.env)
        return "", _told(checks.encode({"name": type(self.env).__name__, "max_turns": self._cap_turns()}))

    def _build(self, namespace: dict[str, Any]) -> Any:
        for name, value in list(namespace.items()):
            own = isinstance(value, type) and value.__module__ == MODULE
            if own and name.endswith("Env") and name not in self.bases:
                build: Callable[..., Any] = value
                return build(**self._arguments(value, namespace.get(LEVEL)))
        raise Problem(wire.NO_CLASS, "the program defines no class whose name ends in Env")

    def _arguments(self, cls: type, level: Any) -> dict[str, int]:
        """Return arguments for the constructor: the level, and a turn budget if it has no default of its own."""
        if cls.__init__ is object.__init__:  # type: ignore[misc]
            return {}
        try:
            parameters = inspect.signature(cls).parameters
        except (TypeError, ValueError):
            return {}
        arguments = {"difficulty": level} if "difficulty" in parameters and type(level) is int else {}
        insists = "max_turns" in parameters and parameters["max_turns"].default is inspect.Parameter.empty
        return arguments | ({"max_turns": self.limits["max_turns"]} if insists else {})

    def _cap_turns(self) -> int:
        """Set the program's turn budget to the lower of its own and the run's, and return it."""
        cap: int = self.limits["max_turns"]
        own = getattr(self.env, "max_turns", None)
        if isinstance(own, int) and not isinstance(own, bool) and 0 < own <= cap:
            return own
        if own is not None:
            with contextlib.suppress(AttributeError, TypeError):
                self.env.max_turns = cap
        return cap

    def reset(self, body: bytes) -> tuple[str, bytes]:
        """Start an episode; returns the observation, and info, turn budget and tools as JSON."""
        seed = int(body)
        virtual.reseed(seed)
        result = self.seeding(self._method("reset"), seed)
        observation, info = result if isinstance(result, tuple) and len(result) == 2 else (result, {})
        text = checks.observation(observation, self.limits["max_observation"], may_be_empty=False)
        tools = checks.tools(self._method("get_tools")() if hasattr(self.env, "get_tools") else [])
        return text, _told(f'{{"info":{checks.info(info)},"max_turns":{self._cap_turns():d},"tools":{tools}}}')

    def step(self, body: bytes) -> Answer:
        """Take one action; returns the reply."""
        result = self._method("step")(body.decode())
        observation, reward, terminated, truncated, info = checks.five(result)
        text = checks.observation(observation, self.limits["max_observation"], may_be_empty=True)
        paid = checks.reward(reward, self.limits["reward_bound"])
        ended = wire.TERMINATED if checks.flag(terminated, "terminated") else 0
        cut = wire.TRUNCATED if checks.flag(truncated, "truncated") else 0
        told = checks.info(info)
        return ended | cut, paid, text, _told(told) if told != "{}" else b""

    def play(self, body: bytes, send: Callable[[Answer], None]) -> Answer:
        """Play episodes of given actions. Each reset and step has a reply; all but the last are sent at once."""
        *others, last = json.loads(body)
        for script in others:
            send(self._episode(script, send))
        return self._episode(last, send)

    def _episode(self, script: tuple[int, list[str]], send: Callable[[Answer], None]) -> Answer:
        seed, actions = script
        answer: Answer = (0, 0.0, *self.reset(str(seed).encode()))
        for action in actions:
            send(answer)
            answer = self.step(action.encode())
            if answer[0] & wire.ENDED:
                break
        return answer

    def call(self, body: bytes) -> tuple[str, bytes]:
        """Call a named method; arguments and result are JSON."""
        asked = json.loads(body)
        result = self._method(asked["method"])(*asked["args"])
        text = checks.plain(result, f"the result of {asked['method']}()")
        return "", _told(f'{{"result":{text}}}')

    def forget(self, error: MemoryError) -> None:
        """Free memory so that ``error`` can be reported; this instance is lost anyway."""
        self.env = None
        if MODULE in sys.modules:
            vars(sys.modules[MODULE]).clear()
        traceback.clear_frames(error.__traceback__)

    def _method(self, name: str) -> Callable[..., Any]:
        method = getattr(self.env, name, None)
        if not callable(method):
            raise Problem(wire.NO_METHOD, f"the environment has no method {name}()")
        return method  # type: ignore[no-any-return]


def rehearse(runner: Runner) -> None:
    """Do once what each child will do first, so that what sets itself up on its first use is set up in all of them."""
    limits = {"max_observation": 100, "reward_bound": 1, "max_turns": 1}
    meta = json.dumps({"source": REHEARSAL, "limits": limits}).encode()
    runner.load(len(meta).to_bytes(4, "little") + meta)
    runner.reset(b"0")
    runner.step(b"")
    del sys.modules[MODULE], linecache.cache[FILE]


def _compile(source: str) -> types.CodeType:
    try:
        return compile(source, FILE, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise Problem(wire.NO_SYNTAX, f"line {error.lineno}: {error.msg}", _trace(error)) from None
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise Problem(wire.NO_SYNTAX, f"the source cannot be compiled: {_brief(error)}") from None


def _by_keyword(reset: Callable[..., Any], seed: int) -> Any:
    return reset(seed=seed)


def _by_position(reset: Callable[..., Any], seed: int) -> Any:
    return reset(seed)


def _unseeded(reset: Callable[..., Any], _: int) -> Any:
    return reset()


def _seeding(env: Any) -> Callable[[Callable[..., Any], int], Any]:
    """How ``reset`` takes its seed: by keyword, as its first argument, or not at all."""
    try:
        parameters = inspect.signature(env.reset).parameters
    except (AttributeError, TypeError, ValueError):
        return _by_keyword
    if "seed" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return _by_keyword
    return _by_position if parameters else _unseeded


def _told(text: str) -> bytes:
    data = text.encode("utf-8", "replace")
    if excess := wire.json_excess(data):
        raise Problem(wire.BAD_TYPES, f"info, tools or result hold {excess}")
    return data


def _brief(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"[:500]
    except BaseException:  # noqa: BLE001 - its __str__ is the program's too
        return type(error).__name__


def _trace(error: BaseException) -> str:
    """Return the part of a traceback that lies in the program."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename != FILE:
        frames = frames.tb_next
    try:
        return "".join(traceback.format_exception(type(error), error, frames, limit=-8))[-4000:]
    except BaseException:  # noqa: BLE001 - its __str__ is the program's too
        return ""


def _report(error: BaseException) -> Answer:
    """Turn an exception into a reply."""
    try:
        if isinstance(error, Problem):
            problem = error
        elif isinstance(error, MemoryError):
            problem = Problem(wire.MEMORY, "out of memory", _trace(error))
        else:
            problem = Problem(wire.RAISED, _brief(error), _trace(error))
        told = checks.encode({"code": problem.code, "detail": problem.detail})
        return wire.FAULT, 0.0, problem.message, told.encode("utf-8", "replace")
    except MemoryError:
        _exit(wire.OUT_OF_MEMORY)
        raise


def _at_once() -> None:
    """Read the next request without waiting for anything else."""


def serve(runner: Runner, wait: Callable[[], None] = _at_once) -> NoReturn:
    """Answer requests until the host hangs up; never returns. ``wait`` runs before each request is read."""
    sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = Nowhere()  # type: ignore[misc, assignment]
    sys.stdin = sys.__stdin__ = io.StringIO()  # type: ignore[misc, assignment]
    plain = {wire.COMPILE: runner.compile, wire.LOAD: runner.load, wire.RESET: runner.reset, wire.CALL: runner.call}
    while True:
        wait()
        size, request, operation = wire.REQUEST.unpack(_receive(wire.REQUEST.size))
        body = _receive(size)
        try:
            if operation == wire.STEP:
                reply = runner.step(body)
            elif operation == wire.PLAY:
                reply = runner.play(body, partial(_send_more, request))
            else:
                reply = (0, 0.0, *plain[operation](body))
        except BaseException as error:  # noqa: BLE001 - whatever a program raises is its fault
            if isinstance(error, MemoryError):
                runner.forget(error)
            reply = _report(error)
        _send(request, *reply)


def _receive(size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = _read(wire.SOCKET, size - len(data))
        if not more:
            _exit(0)
        data += more
    return data


def _send_more(request: int, answer: Answer) -> None:
    _send(request, answer[0] | wire.MORE, *answer[1:])


def _send(request: int, flags: int, reward: float, observation: str, told: bytes) -> None:
    text = observation.encode("utf-8", "replace")
    head = wire.REPLY.pack(len(text) + len(told), request, flags, reward, len(text))
    left = memoryview(head + text + told)
    while left:
        left = left[_write(wire.SOCKET, left) :]
