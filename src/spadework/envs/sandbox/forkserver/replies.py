"""What children answer, taken out of the bytes that come in. Nothing is believed before it is checked.

What a reply tells in JSON is counted before it is decoded, and of a request that plays scripts the tools alone are
kept: a program could otherwise fill the host's memory with a few bytes a value, a reply at a time.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from spadework.envs.sandbox.base import Script, Step
from spadework.envs.sandbox.forkserver.inside import wire
from spadework.text import clean_json

_REMEMBERED = 16_384
"""Bytes up to which decoded JSON is kept: every instance keeps one."""


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
        self._buffer = bytearray()
        self._request = self._operation = 0
        self._told: tuple[bytes, Mapping[str, Any]] = b"", {}
        """The JSON that was decoded last, and what it held: one reset after the other tells the same tools."""
        self._most_early = 0
        """Replies to the current request that may come before its last one."""

    def expect(self, request: int, operation: int, most: int = 1) -> None:
        """A request goes out, to which there are at most so many replies."""
        self._request, self._operation, self._most_early = request, operation, most - 1

    def feed(self, data: bytes) -> None:
        """Bytes have come in."""
        self._buffer += data

    def take(self, *, told: bool = True) -> Reply | None:
        """The next reply, once it is whole. Raises ``ValueError`` for what breaks the protocol.

        Args:
            told: whether to decode its JSON, if it is no fault's.
        """
        buffer, head = self._buffer, wire.REPLY.size
        if len(buffer) < head:
            return None
        size, request, flags, reward, observed = wire.REPLY.unpack_from(buffer)
        end = head + size
        more = flags & ~wire.ENDED == wire.MORE and self._most_early > 0
        most = wire.MAX_CODE if self._operation == wire.COMPILE else wire.MAX_JSON
        too_long = observed > min(size, 4 * self._max_observation + 4096) or size - observed > most
        if too_long or (len(buffer) > end and not more):
            sent = f"{len(buffer) - head} sent and {observed} of observation"
            raise ValueError(f"a reply of {size} bytes with {sent}")
        if request != self._request or (flags & ~7 and not more) or not math.isfinite(reward):
            asked = f"request {request} of {self._request}"
            raise ValueError(f"a reply to {asked} with flags {flags} and reward {reward}")
        if len(buffer) < end:
            return None
        observation, rest = bytes(buffer[head : head + observed]), bytes(buffer[head + observed : end])
        del buffer[:end]
        self._most_early -= more
        wanted = told or flags & wire.FAULT
        return Reply(flags, reward, self._text(observation), self._json(rest) if rest and wanted else {})

    def _text(self, observation: bytes) -> str:
        try:
            text = observation.decode()
        except ValueError as error:
            raise ValueError(f"an observation that is not UTF-8: {error}") from None
        if len(text) > self._max_observation:
            raise ValueError(f"an observation of {len(text)} characters")
        return text

    def _json(self, told: bytes) -> Mapping[str, Any]:
        if len(told) > _REMEMBERED:
            return self._decoded(told)
        if told != self._told[0]:
            self._told = told, self._decoded(told)
        return self._told[1]

    def _decoded(self, told: bytes) -> Mapping[str, Any]:
        excess = "" if self._operation == wire.COMPILE else wire.json_excess(told)
        if excess:
            raise ValueError(f"a reply that tells {excess}")
        try:
            data = json.loads(told)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"a reply that is not JSON: {error}") from None
        if not isinstance(data, dict):
            raise ValueError(f"a reply that tells a {type(data).__name__}")
        # JSON spells what UTF-8 cannot carry as an escape: without one, all that was decoded is clean.
        return clean_json(data) if b"\\u" in told or b"\xef\xbb\xbf" in told else data


class Plays:
    """What a request to play ``scripts`` has given so far: for each episode, what its reset and its actions gave."""

    def __init__(self, scripts: Sequence[Script]) -> None:
        self.episodes: list[list[Step]] = []
        self._scripts = scripts

    @property
    def resets(self) -> bool:
        """Whether the next reply answers a reset."""
        if not self.episodes:
            return True
        last, actions = self.episodes[-1], self._scripts[len(self.episodes) - 1][1]
        return last[-1].done or len(last) > len(actions)

    @property
    def action(self) -> str | None:
        """The action that the next reply answers; ``None`` where that is a reset."""
        return None if self.resets else self._scripts[len(self.episodes) - 1][1][len(self.episodes[-1]) - 1]

    @property
    def whole(self) -> bool:
        """Whether every script has been played to its end."""
        return self.resets and len(self.episodes) == len(self._scripts)

    def add(self, step: Step) -> None:
        """Add what the next reply says. Raises ``ValueError`` when nothing was left to play."""
        if self.whole:
            raise ValueError("more replies than resets and steps")
        if self.resets:
            self.episodes.append([step])
        else:
            self.episodes[-1].append(step)
