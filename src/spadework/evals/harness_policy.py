"""A policy as the model of somebody else's harness.

A harness hands over the whole history with every request and mostly runs in a thread; a ``Chat`` grows and lives on
the event loop. ``Voice`` stands between: what is new in the history is observed, and where the history was rewritten
or the tools changed, a new conversation is opened from it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from spadework.envs.tool_calls import Call, coerce, parse_reply, said_text, schema_of
from spadework.policies.base import Chat, Message, Policy, SamplingParams
from spadework.types import Key

Tools = Sequence[Mapping[str, Any]]
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Said:
    """One reply: ``raw`` as sampled (what belongs in the history), ``text`` without its thinking and its calls."""

    raw: str
    text: str
    calls: tuple[Call, ...]


class Voice:
    """Speaks for one side of one episode; make it on the event loop.

    Args:
        policy: Who speaks.
        sampling: How each reply is sampled.
        key: Begins the keys of the replies; the turn is appended.
    """

    def __init__(self, policy: Policy, sampling: SamplingParams, key: Key) -> None:
        self._policy, self._sampling, self._key = policy, sampling, key
        self._loop = asyncio.get_running_loop()
        self._chat: Chat | None = None
        self._heard: list[Message] = []
        self._tools: list[Mapping[str, Any]] = []
        self.turns = 0
        """Replies so far."""
        self.tokens = 0
        """Sampled so far."""

    async def reply(self, history: Sequence[Message], tools: Tools = ()) -> Said:
        """The next message after ``history``. Raises ``PolicyError``."""
        chat = self._continue(list(history), list(tools))
        completion = await chat.reply(self._sampling, (*self._key, self.turns))
        self.turns += 1
        self.tokens += len(completion.tokens)
        self._heard.append(Message(role="assistant", content=completion.text))
        return read(completion.text, tools)

    def reply_in_thread(self, history: Sequence[Message], tools: Tools = ()) -> Said:
        """``reply`` for a harness in another thread, which waits."""
        return asyncio.run_coroutine_threadsafe(self.reply(history, tools), self._loop).result()

    def _continue(self, history: list[Message], tools: list[Mapping[str, Any]]) -> Chat:
        known = len(self._heard)
        if self._chat is None or tools != self._tools or history[:known] != self._heard or len(history) == known:
            self._chat = self._policy.chat(history, tools=tools)
        else:
            for message in history[known:]:
                self._chat.observe(message)
        self._heard, self._tools = history, tools
        return self._chat


def read(raw: str, tools: Tools) -> Said:
    """Read a reply. A call that cannot be read is left out; text arguments of the XML form get their schema's types."""
    calls = parse_reply(raw).calls
    if "<function=" in raw:
        calls = tuple(Call(call.name, _typed(call, schema_of(tools, call.name) or {})) for call in calls)
    return Said(raw, said_text(raw), calls)


def _typed(call: Call, schema: Mapping[str, Any]) -> dict[str, Any]:
    typed = dict(call.arguments)
    for name, kind in schema.get("properties", {}).items():
        if name in typed:
            try:
                typed[name] = coerce(typed[name], kind)
            except ValueError:
                continue  # the harness says what is wrong with it
    return typed


async def in_thread(work: Callable[[], Result]) -> Result:
    """Run a harness in a thread of its own: in a shared pool, episodes that wait for a thread would hold up an engine
    that waits for all who ``attend``. A cancelled wait leaves the thread behind; its next request is refused.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Result] = loop.create_future()

    def settle(result: Result | None, error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is None:
            done.set_result(result)  # type: ignore[arg-type]
        else:
            done.set_exception(error)

    def run() -> None:
        result, error = None, None
        try:
            result = work()
        except BaseException as raised:  # noqa: BLE001 - handed on to who waits
            error = raised
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, daemon=True, name="harness").start()
    return await done
