"""A person as a policy: what the environment says is shown, and the line that comes back is the reply."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from spadework.errors import PolicyError
from spadework.policies.base import Completion, Message, SamplingParams
from spadework.types import Key, Segment


class HumanPolicy:
    """Asks a person.

    Args:
        ask: shows a text and returns the reply, and may block; raises ``EOFError`` when there is none any more.
    """

    version = 0

    def __init__(self, ask: Callable[[str], str]) -> None:
        self._ask = ask

    def chat(
        self, messages: Sequence[Message], *, tools: Sequence[Mapping[str, Any]] = (), prefill: str = ""
    ) -> HumanChat:
        """Open a conversation; of its opening only the tools and the last message are shown."""
        schemas = [json.dumps(tool.get("function", tool)) for tool in tools]
        return HumanChat(self._ask, [*schemas, messages[-1]["content"]])

    @contextmanager
    def attend(self) -> Iterator[None]:
        """Nobody waits for a person."""
        yield

    def count_tokens(self, text: str) -> int:
        """Words."""
        return len(text.split())

    async def close(self) -> None:
        """Nothing to close."""


class HumanChat:
    """One conversation with a person. It has no tokens."""

    length = 0
    segments: tuple[Segment, ...] = ()

    def __init__(self, ask: Callable[[str], str], shown: Sequence[str]) -> None:
        self._ask, self._shown = ask, list(shown)

    async def reply(self, params: SamplingParams, key: Key) -> Completion:
        """The next line. Raises ``PolicyError`` at the end of input."""
        try:
            text = self._ask("\n".join(self._shown))
        except EOFError:
            raise PolicyError("HUMAN", "there is no more input") from None
        self._shown = []
        return Completion(text, (), (), "stop", 0)

    def observe(self, message: Message) -> None:
        """What is shown next, after what was observed before it."""
        self._shown.append(message["content"])

    def say(self, text: str) -> None:
        """What was said for the person is not shown."""
