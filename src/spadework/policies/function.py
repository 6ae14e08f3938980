"""A function of the user's own as a policy: it gets the conversation and returns the reply."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from spadework.errors import ConfigError
from spadework.policies.base import Completion, Message, SamplingParams
from spadework.types import Key, Segment

Agent = Callable[..., str | Awaitable[str]]
"""``agent(messages) -> reply``, plain or ``async``. One with a parameter called ``tools`` gets the tools' schemas."""


class FunctionPolicy:
    """Asks a function for every reply.

    An ``async`` function is awaited on the event loop, and many of its calls run at once. A plain one may block: it is
    called in a thread of its own, one call at a time, so it need not be safe for threads.

    Args:
        agent: gets the messages so far as a list and returns the text of the next reply. What it raises is raised to
            the caller of the play, unless it is a ``PolicyError``, which becomes a fault of the episode.
    """

    version = 0

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._takes_tools = "tools" in _parameters(agent)
        self._is_async = inspect.iscoroutinefunction(agent) or inspect.iscoroutinefunction(
            getattr(agent, "__call__", None)  # noqa: B004 - an object whose __call__ is async
        )
        self._thread = ThreadPoolExecutor(1, "spadework-agent")

    def chat(
        self, messages: Sequence[Message], *, tools: Sequence[Mapping[str, Any]] = (), prefill: str = ""
    ) -> FunctionChat:
        """Open a conversation; a ``prefill`` is shown as a last message of the assistant's."""
        begun = [Message(role="assistant", content=prefill)] if prefill else []
        return FunctionChat(self, [*messages, *begun], tools)

    @contextmanager
    def attend(self) -> Iterator[None]:
        """Nothing is batched."""
        yield

    def count_tokens(self, text: str) -> int:
        """Words, since a function has no tokens."""
        return len(text.split())

    async def ask(self, messages: list[Message], tools: Sequence[Mapping[str, Any]]) -> str:
        """The function's reply. Raises ``ConfigError`` for one that is no text."""
        given: dict[str, Any] = {"tools": list(tools)} if self._takes_tools else {}
        if self._is_async:
            reply = self._agent(messages, **given)
        else:
            loop = asyncio.get_running_loop()
            reply = await loop.run_in_executor(self._thread, lambda: self._agent(messages, **given))
        if inspect.isawaitable(reply):
            reply = await reply
        if not isinstance(reply, str):
            name = getattr(self._agent, "__name__", type(self._agent).__name__)
            raise ConfigError(
                f"the agent {name} returned {type(reply).__name__}, not str; let it return the text of its reply"
            )
        return reply

    async def close(self) -> None:
        """Let go of the thread."""
        self._thread.shutdown(wait=False, cancel_futures=True)


class FunctionChat:
    """One conversation with a function. It has no tokens, so no token limit binds it."""

    length = 0
    segments: tuple[Segment, ...] = ()

    def __init__(self, policy: FunctionPolicy, messages: list[Message], tools: Sequence[Mapping[str, Any]]) -> None:
        self._policy, self._messages, self._tools = policy, messages, tools

    async def reply(self, params: SamplingParams, key: Key) -> Completion:
        """Ask the function; it gets a copy of the conversation."""
        text = await self._policy.ask([*self._messages], self._tools)
        self.say(text)
        return Completion(text, (), (), "stop", 0)

    def observe(self, message: Message) -> None:
        """Append a message of someone else."""
        self._messages.append(message)

    def say(self, text: str) -> None:
        """Append a message of the assistant's."""
        self._messages.append(Message(role="assistant", content=text))


def _parameters(agent: Agent) -> Mapping[str, Any]:
    try:
        return inspect.signature(agent).parameters
    except (TypeError, ValueError):  # some built-in callables have no signature
        return {}
