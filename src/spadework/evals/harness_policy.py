"""An adapter that lets an external benchmark harness use a ``Policy`` as its model.

A harness passes the whole history with every request, and usually runs in a thread. A ``Chat`` grows message by message
and lives on the event loop. ``HarnessPolicy`` bridges the two: it adds only the new messages of the history to the
chat, and opens a new chat when the harness has rewritten the history or changed the tools.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from spadework.envs.tool_calls import Call, convert, parse_reply, said_text, schema_of
from spadework.policies.base import Chat, Message, Policy, SamplingParams
from spadework.types import Key

Tools = Sequence[Mapping[str, Any]]
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class HarnessReply:
    """One reply of the policy, in the parts that a harness asks for."""

    raw: str
    """The reply as it was sampled. This is the text that belongs in the history."""
    text: str
    """The reply without its thinking and its calls."""
    calls: tuple[Call, ...]
    """The tool calls of the reply that could be parsed."""


class HarnessPolicy:
    """Produces the replies of one side of one episode. It must be constructed on the event loop.

    Args:
        policy: samples the replies.
        sampling: how each reply is sampled.
        key: the prefix of the replies' keys; the number of the reply is appended to it.
    """

    def __init__(self, policy: Policy, sampling: SamplingParams, key: Key) -> None:
        self._policy, self._sampling, self._key = policy, sampling, key
        self._loop = asyncio.get_running_loop()
        self._chat: Chat | None = None
        self._heard: list[Message] = []
        self._tools: list[Mapping[str, Any]] = []
        self.turns = 0
        """Number of replies so far."""
        self.tokens = 0
        """Number of tokens sampled so far."""

    async def reply(self, history: Sequence[Message], tools: Tools = ()) -> HarnessReply:
        """The next message after ``history``. Raises ``PolicyError``."""
        chat = self._continue(list(history), list(tools))
        completion = await chat.reply(self._sampling, (*self._key, self.turns))
        self.turns += 1
        self.tokens += len(completion.tokens)
        self._heard.append(Message(role="assistant", content=completion.text))
        return read_reply(completion.text, tools)

    def reply_in_thread(self, history: Sequence[Message], tools: Tools = ()) -> HarnessReply:
        """Blocking ``reply`` for a harness that runs in another thread. Raises ``PolicyError``."""
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


def read_reply(raw: str, tools: Tools) -> HarnessReply:
    """Parse a reply. Calls that cannot be parsed are left out; text arguments of XML calls get their schema's types."""
    calls = parse_reply(raw).calls
    if "<function=" in raw:
        calls = tuple(Call(call.name, _typed(call, schema_of(tools, call.name) or {})) for call in calls)
    return HarnessReply(raw, said_text(raw), calls)


def _typed(call: Call, schema: Mapping[str, Any]) -> dict[str, Any]:
    typed = dict(call.arguments)
    for name, kind in schema.get("properties", {}).items():
        if name in typed:
            typed[name] = convert(typed[name], kind)  # a wrong type stays, and the harness reports it
    return typed


async def in_thread(work: Callable[[], Result]) -> Result:
    """Run a harness in a thread of its own, and wait for its result.

    A shared pool of threads could deadlock: an engine waits until every attending episode has requested a reply, and an
    episode that waits for a free thread never requests one. If the wait is cancelled, the thread goes on until its next
    request, which is refused.
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
        except BaseException as raised:  # noqa: BLE001 - passed on to the coroutine that waits
            error = raised
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, daemon=True, name="harness").start()
    return await done
