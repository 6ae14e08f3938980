"""What children answer, taken out of the bytes that come in. Nothing is believed before it is checked."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spadework.envs.forkserver.inside import wire
from spadework.envs.sandbox import Script


@dataclass(frozen=True, slots=True)
class Reply:
    """What a child answered, checked."""

    flags: int
    reward: float
    observation: str
    told: Mapping[str, Any]


class Replies:
    """The replies to one request after the other.

    Args:
        max_observation: characters that an observation may have.
    """

    def __init__(self, max_observation: int) -> None:
        self._max_observation = max_observation
        self._most = wire.MAX_JSON + 4 * max_observation + 4096
        self._buffer = bytearray()
        self._request = 0
        self.early: list[Reply] = []
        """Replies to the current request that others follow."""
        self._most_early = 0

    def expect(self, request: int, most: int) -> None:
        """A request goes out, to which there are at most so many replies."""
        self._request, self.early, self._most_early = request, [], most - 1

    def read(self, data: bytes) -> Iterator[Reply]:
        """The replies that are whole by now. Raises ``ValueError`` for what breaks the protocol."""
        self._buffer += data
        while (reply := self._next()) is not None:
            if reply.flags & wire.MORE:
                self.early.append(reply)
            yield reply

    def _next(self) -> Reply | None:
        buffer, head = self._buffer, wire.REPLY.size
        if len(buffer) < head:
            return None
        size, request, flags, reward, observed = wire.REPLY.unpack_from(buffer)
        end, more = head + size, flags & ~wire.ENDED == wire.MORE and len(self.early) < self._most_early
        if size > self._most or observed > size or (len(buffer) > end and not more):
            sent = f"{len(buffer) - head} sent and {observed} of observation"
            raise ValueError(f"a reply of {size} bytes with {sent}")
        if request != self._request or (flags & ~7 and not more) or not math.isfinite(reward):
            asked = f"request {request} of {self._request}"
            raise ValueError(f"a reply to {asked} with flags {flags} and reward {reward}")
        if len(buffer) < end:
            return None
        body = bytes(buffer[head:end])
        del buffer[:end]
        return self._decode(flags, reward, body[:observed], body[observed:])

    def _decode(self, flags: int, reward: float, observation: bytes, told: bytes) -> Reply:
        try:
            text = observation.decode()
            data = json.loads(told) if told else {}
        except (ValueError, RecursionError) as error:
            raise ValueError(f"a reply that is not UTF-8 and JSON: {error}") from None
        if not isinstance(data, dict) or len(text) > self._max_observation:
            raise ValueError(f"a reply with {len(text)} characters and a {type(data).__name__}")
        return Reply(flags, reward, text, data)


def deal(scripts: Sequence[Script], replies: Sequence[Reply]) -> tuple[list[list[Reply]], str | None]:
    """Replies to ``scripts``, episode by episode, and the action that the next one would answer, if it is an action."""
    left = iter(replies)
    episodes: list[list[Reply]] = []
    for _, actions in scripts:
        if (reply := next(left, None)) is None:
            break
        episodes.append([reply])
        for action in actions:
            if (reply := next(left, None)) is None:
                return episodes, action
            episodes[-1].append(reply)
            if reply.flags & wire.ENDED:
                break
    return episodes, None
