"""The sandbox over a Ray cluster: one fork server a node, behind an actor; calls and answers travel in batches.

An actor that dies takes its instances along as typed faults; the next ``open`` replaces it. Needs the ``ray`` extra.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spadework.envs.sandbox.base import Limits, Script, Step, play_singly
from spadework.envs.sandbox.forkserver.client import ForkServer, PoolLimits
from spadework.envs.sandbox.forkserver.instance import Instance
from spadework.envs.sandbox.forkserver.kernel_facts import CLOSED, LOST
from spadework.envs.sandbox.forkserver.support import LEAST
from spadework.errors import ConfigError, FaultError, ProgramError, SandboxError
from spadework.types import Fault

SLACK_SECONDS = 120.0
"""Wall seconds, above a call's own limit, after which an actor that does not answer is given up."""


@dataclass(frozen=True, slots=True)
class Order:
    """One call for an actor: what to do with which of its sessions."""

    number: int
    session: int
    verb: str
    args: tuple[Any, ...] = ()


class NodeServer:
    """What the actor runs: a fork server that takes orders in batches and gives answers as they come."""

    def __init__(self, pool: PoolLimits | None = None, require: Iterable[str] = LEAST, unsafe: bool = False) -> None:
        self._sandbox = ForkServer(pool, require=require, unsafe=unsafe)
        self._sessions: dict[int, Instance] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._answers: list[tuple[int, Any]] = []
        self._answered = asyncio.Event()

    async def submit(self, orders: list[Order]) -> None:
        """Start on ``orders``; their answers come by ``collect``."""
        for order in orders:
            task = asyncio.create_task(self._answer(order))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def collect(self) -> list[tuple[int, Any]]:
        """Wait for answers: the order's number and its result, or its ``Fault``."""
        await self._answered.wait()
        self._answered.clear()
        answers, self._answers = self._answers, []
        return answers

    async def close(self) -> None:
        """Kill every instance of the node."""
        await self._sandbox.close()

    async def _answer(self, order: Order) -> None:
        try:
            answer: Any = await self._obey(order)
        except FaultError as error:
            answer = error.fault
        except Exception as error:  # noqa: BLE001 - the caller waits for an answer, whatever it is
            answer = Fault("sandbox", LOST, f"{type(error).__name__}: {error}")
        self._answers.append((order.number, answer))
        self._answered.set()

    async def _obey(self, order: Order) -> Any:
        if order.verb == "open":
            session = self._sessions[order.session] = await self._sandbox.open(*order.args)
            return session.max_turns
        session = self._sessions[order.session]
        if order.verb == "reset":
            step = await session.reset(*order.args)
            return step, session.max_turns, session.tools
        if order.verb == "step":
            return await session.step(*order.args)
        if order.verb == "call":
            return await session.call(*order.args)
        del self._sessions[order.session]
        return await session.close()


class _Node:
    """The driver's end of one actor."""

    def __init__(self, actor: Any) -> None:
        self.actor = actor
        self.live = 0
        self.dead: SandboxError | None = None
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._batch: list[Order] = []
        self._numbers = 0
        self._collector = asyncio.create_task(self._collect())

    async def ask(self, session: int, verb: str, args: tuple[Any, ...], seconds: float) -> Any:
        """The answer to one order. Raises the fault that came instead."""
        if self.dead is not None:
            raise self.dead
        loop = asyncio.get_running_loop()
        self._numbers += 1
        answer: asyncio.Future[Any] = loop.create_future()
        self._waiting[self._numbers] = answer
        if not self._batch:
            loop.call_soon(self._flush)
        self._batch.append(Order(self._numbers, session, verb, args))
        try:
            result = await asyncio.wait_for(asyncio.shield(answer), seconds + SLACK_SECONDS)
        except TimeoutError:
            raise self.lose("a node does not answer") from None
        if isinstance(result, Fault):
            error = ProgramError if result.kind == "program" else SandboxError
            raise error(result.code, result.message, result.detail)
        return result

    def lose(self, why: str) -> SandboxError:
        """Give the actor up; whoever waits for it gets the fault."""
        self.dead = self.dead or SandboxError(LOST, why)
        self._collector.cancel()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(self.dead)
                answer.exception()
        self._waiting.clear()
        _ray().kill(self.actor)
        return self.dead

    def _flush(self) -> None:
        """All orders of this turn of the event loop travel together."""
        batch, self._batch = self._batch, []
        if self.dead is None:
            self.actor.submit.remote(batch)

    async def _collect(self) -> None:
        try:
            while True:
                for number, result in await self.actor.collect.remote():
                    answer = self._waiting.pop(number, None)
                    if answer is not None and not answer.done():
                        answer.set_result(result)
        except _ray().exceptions.RayError as error:
            self.lose(f"a node's sandbox has died: {type(error).__name__}")


class RaySession:
    """A ``Session`` on some node."""

    def __init__(self, node: _Node, number: int, limits: Limits) -> None:
        self._node = node
        self._number = number
        self._limits = limits
        self._max_turns = limits.max_turns
        self._tools: tuple[Mapping[str, Any], ...] = ()
        self._busy = False
        self._closed = False

    @property
    def max_turns(self) -> int:
        """See ``Session``."""
        return self._max_turns

    @property
    def tools(self) -> tuple[Mapping[str, Any], ...]:
        """See ``Session``."""
        return self._tools

    async def load(self, source: str) -> None:
        """Open the instance on the node."""
        self._max_turns = await self._ask("open", source, self._limits)

    async def reset(self, seed: int) -> Step:
        """See ``Session``."""
        step, self._max_turns, self._tools = await self._ask("reset", seed)
        return step  # type: ignore[no-any-return]

    async def step(self, action: str) -> Step:
        """See ``Session``."""
        return await self._ask("step", action)  # type: ignore[no-any-return]

    async def play(self, scripts: Sequence[Script]) -> list[list[Step]]:
        """See ``Session``."""
        return await play_singly(self, scripts)

    async def call(self, method: str, *args: Any) -> Any:
        """See ``Session``."""
        return await self._ask("call", method, *args)

    async def close(self) -> None:
        """See ``Session``."""
        if self._closed:
            return
        self._closed = True
        self._node.live -= 1
        if self._node.dead is None:
            await self._node.ask(self._number, "close", (), self._limits.wall_seconds)

    async def _ask(self, verb: str, *args: Any) -> Any:
        if self._busy:
            raise RuntimeError("one call at a time: a session is one player's")
        if self._closed:
            raise SandboxError(CLOSED, "the session is closed")
        self._busy = True
        try:
            return await self._node.ask(self._number, verb, args, self._limits.wall_seconds)
        except asyncio.CancelledError:
            await self.close()
            raise
        finally:
            self._busy = False


class RaySandbox:
    """A ``Sandbox`` of one fork server a node.

    Args:
        address: the cluster, as ``ray.init`` takes it; a Ray that is already initialised is used as it is.
        actors: how many fork servers; None for one on each node that is alive.
        pool: what the instances of one fork server together may use.
        require: layers of the sandbox without which a node runs nothing.
        unsafe: run programs even where those are missing.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        actors: int | None = None,
        pool: PoolLimits | None = None,
        require: Iterable[str] = LEAST,
        unsafe: bool = False,
    ) -> None:
        ray = _ray()
        if not ray.is_initialized():
            ray.init(address=address, include_dashboard=False, log_to_driver=False, configure_logging=False)
        self._server = (pool, tuple(require), unsafe)
        self._places: list[str | None] = [None] * actors if actors is not None else _nodes()
        self._nodes: list[_Node | None] = [None] * len(self._places)
        self._numbers = 0
        self._closed = False

    async def open(self, source: str, limits: Limits) -> RaySession:
        """See ``Sandbox``."""
        if self._closed:
            raise SandboxError(CLOSED, "the sandbox is closed")
        node = self._least_loaded()
        node.live += 1
        self._numbers += 1
        session = RaySession(node, self._numbers, limits)
        try:
            await session.load(source)
        except BaseException:
            session._closed = True
            node.live -= 1
            raise
        return session

    async def close(self) -> None:
        """See ``Sandbox``."""
        self._closed = True
        for node in self._nodes:
            if node is not None:
                node.lose("the sandbox is closed")

    async def __aenter__(self) -> RaySandbox:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _least_loaded(self) -> _Node:
        """The node with the fewest live instances; dead actors are replaced first."""
        for index, node in enumerate(self._nodes):
            if node is None or node.dead is not None:
                self._nodes[index] = _Node(self._actor(self._places[index]))
        return min((node for node in self._nodes if node is not None), key=lambda node: node.live)

    def _actor(self, place: str | None) -> Any:
        options: dict[str, Any] = {"num_cpus": 0, "max_concurrency": 1000}
        if place in _nodes():  # softly bound, an actor may start anywhere; a node that is gone binds nothing
            scheduling = importlib.import_module("ray.util.scheduling_strategies")
            options["scheduling_strategy"] = scheduling.NodeAffinitySchedulingStrategy(place, soft=False)
        return _ray().remote(NodeServer).options(**options).remote(*self._server)


def _nodes() -> list[str | None]:
    return [node["NodeID"] for node in _ray().nodes() if node["Alive"]]


def _ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError:
        raise ConfigError("the ray sandbox needs Ray: pip install 'spadework[ray]'") from None
