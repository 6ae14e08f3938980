"""What children answer, taken out of the bytes that come in. Nothing is believed before it is checked."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from spadework.envs.sandbox.base import Script
from spadework.envs.sandbox.forkserver.inside import wire


class Reply(NamedTuple):
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

    def read(self, data: bytes) -> list[Reply]:
        """The replies that ``data`` makes whole. Raises ``ValueError`` for what breaks the protocol."""
        held, head, at = self._buffer, wire.REPLY.size, 0
        if held:
            held += data
        buffer = held or data  # most replies come whole
        found: list[Reply] = []
        while len(buffer) - at >= head:
            size, request, flags, reward, observed = wire.REPLY.unpack_from(buffer, at)
            start, end = at + head, at + head + size
            more = flags & ~wire.ENDED == wire.MORE and len(self.early) < self._most_early
            if size > self._most or observed > size or (len(buffer) > end and not more):
                sent = f"{len(buffer) - start} sent and {observed} of observation"
                raise ValueError(f"a reply of {size} bytes with {sent}")
            if request != self._request or (flags & ~7 and not more) or not math.isfinite(reward):
                asked = f"request {request} of {self._request}"
                raise ValueError(f"a reply to {asked} with flags {flags} and reward {reward}")
            if len(buffer) < end:
                break
            found.append(self._decode(flags, reward, buffer[start : start + observed], buffer[start + observed : end]))
            if more:
                self.early.append(found[-1])
            at = end
        if buffer is held:
            del held[:at]
        else:
            held += data[at:]
        return found

    def _decode(self, flags: int, reward: float, observation: bytes | bytearray, told: bytes | bytearray) -> Reply:
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
