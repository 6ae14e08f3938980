"""One live instance as the host sees it: a socket, a deadline, and what it died of.

Both sandboxes use this class; they differ in how a child is born, killed and reaped.
"""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from spadework.envs.sandbox.base import Limits, Script, Step, blame
from spadework.envs.sandbox.forkserver import support
from spadework.envs.sandbox.forkserver.clock import CallClock, first_of, settle
from spadework.envs.sandbox.forkserver.inside import wire
from spadework.envs.sandbox.forkserver.kernel_facts import (
    CLOSED,
    LOST,
    STOPPED,
    cpu_seconds,
    death,
    hello,
    proc,
    stopped,
)
from spadework.envs.sandbox.forkserver.replies import Plays, Replies, Reply
from spadework.errors import FaultError, ProgramError, SandboxError

START_SECONDS = 60.0
"""Wall seconds that a child may take to say that it is ready."""
RECEIVE = 1 << 16
"""Bytes read at once: a larger buffer would be mapped anew for each."""
GRACE_SECONDS = 1.0
"""Wall seconds from the end of a connection to the end of its process."""


class Instance:
    """A ``Session`` over the socket of one child."""

    def __init__(
        self, sock: socket.socket, limits: Limits, kill: Callable[[], None], gate: asyncio.Semaphore | None = None
    ) -> None:
        sock.setblocking(False)
        if sys.platform.startswith("linux"):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.limits = limits
        self.id = 0
        """What its zygote calls it."""
        self.pid = 0
        self.zygote_pid: asyncio.Future[int] | None = None
        """Its process id as its zygote knows it, once the birth is reported; None where there is no zygote."""
        self.forked = False
        """Whether a template forked it: a birth that untrusted code had a hand in."""
        self.forks = 0
        self.forking = 0
        """Plays of this template that were started, and that are on their way."""
        self.calls = 0
        """Requests sent so far; the current one's id."""
        self.fault: FaultError | None = None
        self._sock = sock
        self._kill = kill
        self._gate = gate
        self._loop = asyncio.get_running_loop()
        self.clock = CallClock(self.cpu, limits.wall_seconds, self._late)
        self.shared_bytes = 0
        """Memory that it had from the start, which it shares with what it was forked from."""
        self.started = False
        self._called = False
        self._reply: asyncio.Future[Reply] | None = None
        self._replies = Replies(limits.max_observation)
        self._plays: Plays | None = None
        """What the request under way has played so far, if it plays scripts."""
        self._max_turns = limits.max_turns
        self._tools: tuple[Mapping[str, Any], ...] = ()
        self.exited: asyncio.Future[int] = self._loop.create_future()
        """The exit status, once the owner has reaped the process."""
        self.exited.add_done_callback(lambda _: self._connection_lost())

    @property
    def max_turns(self) -> int:
        """See ``Session``."""
        return self._max_turns

    @property
    def tools(self) -> tuple[Mapping[str, Any], ...]:
        """See ``Session``."""
        return self._tools

    @property
    def busy(self) -> bool:
        """Whether a call is under way, or a fork."""
        return self._reply is not None or self.forking > 0

    async def start(self) -> None:
        """Wait until the child has confined itself; the kernel tells us its process id."""
        if self.fault is not None:  # its zygote died before anyone waited
            raise self.fault
        ready: asyncio.Future[int] = self._loop.create_future()
        self._loop.add_reader(self._sock.fileno(), settle, ready)
        try:
            await first_of(START_SECONDS, ready, self.exited)
        finally:
            self._mute()
        data, self.pid = hello(self._sock) if self.fault is None else (b"", 0)
        if not data and self.fault is None:  # its end tells more, if it comes
            await first_of(GRACE_SECONDS, self.exited)
        if data != wire.HELLO:
            self.fail(self._start_fault(data, heard=ready.done()))
        if self.fault is None and self.zygote_pid is not None:
            await first_of(None, self.zygote_pid, self.exited)
        if self.fault is None and not self._is_itself():
            self.fail(ProgramError(wire.DIED, "broke the protocol: another process spoke for it"))
        if self.fault is not None:
            raise self.fault
        self.started = True
        self._loop.add_reader(self._sock.fileno(), self._readable)

    def _start_fault(self, data: bytes, *, heard: bool) -> FaultError:
        """Why a child is not ready: one that was forked has run its program by then, which is to blame for it."""
        if self.forked and self.exited.done():
            return death(self.exited.result())
        if self.forked and heard:
            return ProgramError(wire.DIED, "broke the protocol: it did not say that it was ready")
        return support.start_fault(data)

    def _is_itself(self) -> bool:
        """Whether the process that said it is ready is the one whose birth the zygote reported.

        Its CPU clock is the one that is read: a program must not be able to give another's.
        """
        if self.zygote_pid is None or not self.zygote_pid.done():
            return self.zygote_pid is None
        try:
            status = proc(self.pid, "status")
        except OSError:
            return True  # the host hides processes from us
        ids = status.partition("NSpid:")[2].partition("\n")[0].split()
        return not ids or ids[-1] == str(self.zygote_pid.result())

    async def compile(self, source: str) -> bytes:
        """Marshalled code of ``source``: for ``load``, and for no process but a child."""
        reply = await self._request(wire.COMPILE, source.encode("utf-8", "replace"), self.limits.load_seconds)
        code = reply.told.get("code")
        if not isinstance(code, str):
            raise self._breach("the reply to compile lacks the code")
        return base64.b64decode(code)

    def inherit(self, template: Instance) -> None:
        """What is known of the program that ``template`` has loaded."""
        self._max_turns = template.max_turns

    async def load(self, source: str, code: bytes = b"") -> None:
        """Run the program's module and build its environment; ``code`` is what ``compile`` gave, if it was asked."""
        wanted = ("max_observation", "reward_bound", "max_turns")
        limits = {name: value for name, value in asdict(self.limits).items() if name in wanted}
        meta = json.dumps({"source": source, "limits": limits}).encode()
        body = len(meta).to_bytes(4, "little") + meta + code
        self._take_turns(await self._request(wire.LOAD, body, self.limits.load_seconds))

    async def reset(self, seed: int) -> Step:
        """See ``Session``."""
        reply = await self._request(wire.RESET, str(seed).encode(), self.limits.cpu_seconds)
        return Step(reply.observation, info=self._begin(reply))

    def _begin(self, reply: Reply) -> Mapping[str, Any]:
        """Take over what a reply to a reset tells of the episode; returns its info."""
        self._take_turns(reply)
        info, tools = reply.told.get("info"), reply.told.get("tools")
        if not isinstance(info, dict) or not isinstance(tools, list):
            raise self._breach("the reply to reset lacks its parts")
        self._tools = tuple(tool for tool in tools if isinstance(tool, dict))
        return info

    async def step(self, action: str) -> Step:
        """See ``Session``."""
        body = action.encode("utf-8", "replace")
        return self._step(await self._request(wire.STEP, body, self.limits.cpu_seconds))

    async def play(self, scripts: Sequence[Script]) -> list[list[Step]]:
        """See ``Session``. One request; the limits of a call hold for each reset and step."""
        if not scripts:
            return []
        asked = [(seed, list(actions)) for seed, actions in scripts]
        body = json.dumps(asked, ensure_ascii=False).encode("utf-8", "replace")
        plays = self._plays = Plays(asked)
        try:
            await self._request(
                wire.PLAY, body, self.limits.cpu_seconds, replies=sum(1 + len(actions) for _, actions in asked)
            )
        except ProgramError as error:
            if plays.action is not None:
                blame(error, plays.action)
            raise
        finally:
            self._plays = None
        if not plays.whole:
            raise self._breach("fewer replies than resets and steps")
        return plays.episodes

    def _step(self, reply: Reply) -> Step:
        if not abs(reply.reward) <= self.limits.reward_bound:  # NaN fails too
            raise self._breach(f"a reward of {reply.reward}")
        terminated, truncated = bool(reply.flags & wire.TERMINATED), bool(reply.flags & wire.TRUNCATED)
        return Step(reply.observation, reply.reward, terminated, truncated, reply.told)

    async def call(self, method: str, *args: Any) -> Any:
        """See ``Session``."""
        body = json.dumps({"method": method, "args": args}).encode()
        reply = await self._request(wire.CALL, body, self.limits.cpu_seconds)
        if "result" not in reply.told:
            raise self._breach("the reply to a call lacks its result")
        return reply.told["result"]

    async def close(self) -> None:
        """See ``Session``."""
        self.fail(SandboxError(CLOSED, "the session is closed"))
        await first_of(GRACE_SECONDS, self.exited)

    def fail(self, fault: FaultError) -> None:
        """Kill the child; this and every later call raises ``fault``. The first fault stands."""
        if self.fault is not None:
            return
        self.fault = fault
        self._hang_up()
        if not self.exited.done():
            self._kill()
        self._answer(fault)

    def cpu(self) -> float:
        """CPU seconds that the child has burnt; 0 when it is gone."""
        return cpu_seconds(self.pid)

    async def _request(self, operation: int, body: bytes, cpu_seconds: float, replies: int = 1) -> Reply:
        """The last of at most so many replies."""
        if self._called:
            raise RuntimeError("one call at a time: a session is one player's")
        self._called = True
        self.calls = (self.calls + 1) & 0xFFFFFFFF
        self._replies.expect(self.calls, operation, replies)
        try:
            if self._gate is None:
                return await self._dispatch(operation, body, cpu_seconds)
            async with self._gate:
                return await self._dispatch(operation, body, cpu_seconds)
        finally:
            self._called = False

    async def _dispatch(self, operation: int, body: bytes, cpu_seconds: float) -> Reply:
        if self.fault is not None:
            raise self.fault
        reply: asyncio.Future[Reply] = self._loop.create_future()
        self._reply = reply
        self.clock.start(cpu_seconds)
        try:
            self._send(wire.REQUEST.pack(len(body), self.calls, operation) + body, reply)
            answer = await reply
        except asyncio.CancelledError:
            self.fail(SandboxError(CLOSED, "a call was given up"))
            raise
        finally:
            self._reply = None
            self.clock.stop()
        if answer.flags & wire.FAULT:
            raise self._reported(answer)
        return answer

    def _send(self, message: bytes, reply: asyncio.Future[Reply]) -> None:
        try:
            sent = self._sock.send(message)
        except BlockingIOError:
            sent = 0
        except OSError:
            return  # the connection is gone: reading finds out why
        if sent < len(message):
            rest = self._loop.create_task(self._loop.sock_sendall(self._sock, message[sent:]))
            rest.add_done_callback(_forget)
            reply.add_done_callback(lambda _: rest.cancel())

    def _late(self, why: str, *, burnt: bool) -> None:
        if not burnt and stopped(self.pid):
            self.fail(SandboxError(LOST, STOPPED))
        else:
            self.fail(ProgramError(wire.HANG, why))

    def _readable(self) -> None:
        try:
            data = self._sock.recv(RECEIVE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._connection_lost()
        elif self._reply is None:
            self._breach("bytes that nobody asked for")
        else:
            self._take(data)

    def _take(self, data: bytes) -> None:
        last: Reply | None = None
        self._replies.feed(data)
        try:
            while reply := self._replies.take(told=self._plays is None or self._plays.resets):
                last = reply
                if self._plays is not None and not reply.flags & wire.FAULT:
                    self._add(self._plays, reply)
        except ValueError as error:
            self._breach(str(error))
        except ProgramError:
            return  # the reply broke the contract: the call has its answer
        if self.fault is not None or last is None:
            return
        if last.flags & wire.MORE:
            self.clock.restart()
        else:
            self._answer(last)

    def _add(self, plays: Plays, reply: Reply) -> None:
        """One more reply to a request that plays scripts; nobody reads what it tells in info."""
        if plays.resets:
            self._begin(reply)
            plays.add(Step(reply.observation))
        else:
            plays.add(self._step(reply))

    def _answer(self, answer: Reply | FaultError) -> None:
        if self._reply is None or self._reply.done():
            return
        if isinstance(answer, Reply):
            self._reply.set_result(answer)
        else:
            self._reply.set_exception(answer)

    def _reported(self, answer: Reply) -> ProgramError:
        """The fault that a child reported; fatal if it ran out of memory or did not load."""
        code, detail = answer.told.get("code"), answer.told.get("detail", "")
        if code not in wire.CHILD_CODES or not isinstance(detail, str):
            return self._breach(f"a fault of code {code!r}")
        fault = ProgramError(code, answer.observation, detail)
        if code in (wire.MEMORY, wire.NO_SYNTAX, wire.NO_CLASS, wire.NO_START):
            self.fail(fault)
        return fault

    def _take_turns(self, reply: Reply) -> None:
        turns = reply.told.get("max_turns")
        if not isinstance(turns, int) or not 1 <= turns <= self.limits.max_turns:
            raise self._breach(f"a turn budget of {turns!r}")
        self._max_turns = turns

    def _breach(self, what: str) -> ProgramError:
        fault = ProgramError(wire.DIED, f"broke the protocol: {what}")
        self.fail(fault)
        return fault

    def _hang_up(self) -> None:
        self._mute()
        self._sock.close()
        self.clock.close()

    def _mute(self) -> None:
        """Stop listening; by number, since looking a socket up in vain would print it."""
        if self._sock.fileno() >= 0:
            self._loop.remove_reader(self._sock.fileno())

    def _connection_lost(self) -> None:
        """The child has hung up or has exited, unasked. Wait for its exit status, which says why, but not long."""
        if self.fault is not None or not self.started:
            return  # ``start`` judges a child that did not
        if self.exited.done():
            self.fail(death(self.exited.result()))
        else:
            self._mute()
            hung_up = ProgramError(wire.DIED, "hung up without exiting")
            self._loop.call_later(GRACE_SECONDS, self.fail, hung_up)


def _forget(task: asyncio.Task[None]) -> None:
    """A request that could not be sent to its end: reading finds out why."""
    if not task.cancelled():
        task.exception()
