"""Requests to one or several HTTP endpoints that serve the same model: routed, bounded, retried, counted.

A conversation stays with one endpoint, whose prefix cache knows it, as long as that answers (weighted rendezvous
hashing). Everything that can go wrong becomes a ``PolicyError`` with a code of its own, after bounded retries. A field
that a server refuses by name is left out from then on, where a request does without it.
"""

from __future__ import annotations

import asyncio
import email.utils
import hashlib
import json
import logging
import math
import os
import random
import socket
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx

from spadework.config import EndpointSection
from spadework.errors import PolicyError
from spadework.policies.base import Metrics
from spadework.policies.server.budget import Budget
from spadework.policies.server.openai_wire import Unusable
from spadework.policies.server.refusals import message_of, refused_fields
from spadework.text import clean_json

T = TypeVar("T")

_log = logging.getLogger(__name__)

MOST_BYTES = 64 << 20
"""Of one response; what is longer is no answer."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
"""Seconds: a retry waits a random share of the first, doubled for each further one up to the longest."""
COOL_OFF = 5.0
"""Seconds for which an endpoint that refused a connection comes after the others."""
CONNECT_SECONDS = 15.0
"""Within which an endpoint takes a connection; one that needs longer cannot be reached."""
SESSION = ("X-Session-Id", "X-SMG-Routing-Key")
"""Headers that name the conversation, so that a router in front of several servers can keep it with one of them; the
second is the one that SGLang's model gateway reads, which slime starts."""
_OVERLOADED = (429, 503, 529)
_RETRIED = (408, 409, 425, *_OVERLOADED)
_TOO_LONG = ("context length", "maximum context", "context_length", "too long", "context size")


class _Failure(Exception):
    """One attempt failed."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        final: bool = False,
        pause: float = 0.0,
        refused: frozenset[str] = frozenset(),
        not_found: bool = False,
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.final, self.pause = code, message, final, pause
        self.refused = refused
        self.not_found = not_found
        """Whether the server knows no such address or model (404)."""
        """Optional fields that the server does not take: the request can go on without them."""


@dataclass(frozen=True, slots=True)
class _Call:
    """One request. Without ``content`` it is a GET; ``optional`` are the fields of the body that may be left out."""

    path: str
    content: bytes | None
    route: str
    optional: frozenset[str] = frozenset()


@dataclass(slots=True, eq=False)
class _Host:
    url: str
    weight: float
    budget: Budget
    down_until: float = field(default=0.0)


class Endpoints:
    """The endpoints of one model.

    Args:
        settings: where they are and how they are asked.
        key: sent as a bearer token; empty for none.
    """

    def __init__(self, settings: EndpointSection, key: str = "") -> None:
        self.settings, self._key = settings, key
        weights = settings.weights or (1.0,) * len(settings.urls)
        self._hosts = [
            _Host(url.rstrip("/"), weight, Budget(settings.concurrency))
            for url, weight in zip(settings.urls, weights, strict=True)
        ]
        self._client: httpx.AsyncClient | None = None
        self._jitter = random.Random()
        self._counts: Counter[str] = Counter()
        self.waits_for_return = False
        """Whether a connection that fails uses up no attempt, so that the deadline alone ends the waiting."""
        self.dropped: set[str] = set()
        """Fields that an endpoint refused, which no request holds any more."""

    async def ask(
        self,
        path: str,
        body: Mapping[str, Any],
        route: str,
        read: Callable[[Any], T],
        optional: Collection[str] = (),
    ) -> T:
        """POST ``body`` until ``read`` takes the answer; ``route`` names the conversation.

        The deadline runs while a request is under way or pauses, not while it waits for room in the budget. A field of
        ``optional`` that the server refuses by name is left out of this request and of all later ones.

        Raises:
            PolicyError: no usable answer within the retries and the deadline.
        """
        self._counts["requests"] += 1
        failure: _Failure | None = None
        tried: Counter[_Host] = Counter()
        attempt = 0
        try:
            async with asyncio.timeout(self.settings.deadline_seconds) as deadline:
                while True:
                    host = min(self._order(route), key=tried.__getitem__)
                    tried[host] += 1
                    call = self._call(path, body, route, optional)
                    try:
                        return await self._try(host, call, read, deadline)
                    except _Failure as error:
                        failure = error
                    if failure.refused:
                        self._drop(failure)
                        pause: float | None = 0.0
                    else:
                        pause = self._pause(attempt, failure, deadline)
                        attempt += not (self.waits_for_return and failure.code == "CONNECTION")
                    if pause is None:
                        break
                    self._counts[f"retried/{failure.code}"] += 1
                    await asyncio.sleep(pause)
        except TimeoutError:
            seconds = f"no usable answer within {self.settings.deadline_seconds:g} s"
            last = f"; the last attempt: {failure.message}" if failure else ""
            raise self._fault("DEADLINE", seconds + last) from None
        assert failure is not None
        advice = await self._advice(path, body) if failure.not_found else ""
        raise self._fault(failure.code, failure.message + advice)

    async def _advice(self, path: str, body: Mapping[str, Any]) -> str:
        """What to change about a refused request, where the server's list of models tells."""
        model, url = body.get("model"), self._hosts[0].url
        served = await self.models("/v1/models" if path.startswith("/v1/") else "/models") if model else ()
        if served and model not in served:
            return f". It serves {', '.join(served)}"
        if model and not served and not (url.endswith("/v1") or path.startswith("/v1/")):
            return f". Does its address end in /v1? Try {url}/v1"
        return ""

    async def models(self, path: str = "/models") -> tuple[str, ...]:
        """The names that the first endpoint says it serves; empty where it does not say."""
        try:
            data = await self._post(self._hosts[0], _Call(path, None, ""))
            return tuple(str(one["id"]) for one in data["data"])
        except (_Failure, LookupError, TypeError):
            return ()

    def take_over(self, other: Endpoints) -> None:
        """Take over what another client of the same model has counted, and which fields were refused to it."""
        self._counts.update(other._counts)
        self.dropped |= other.dropped

    def take_metrics(self) -> Metrics:
        """Requests, retries, faults, tokens and cost since the last time."""
        counts, self._counts = self._counts, Counter()
        spent = counts["prompt_tokens"] * self.settings.input_price + counts["tokens"] * self.settings.output_price
        limits = {"limit": sum(host.budget.limit for host in self._hosts)}
        cost = {"cost": spent / 1e6} if spent else {}
        return {f"endpoint/{name}": float(value) for name, value in {**counts, **limits, **cost}.items()}

    def count(self, prompt_tokens: int, tokens: int) -> None:
        """Take in what an answer used."""
        self._counts["prompt_tokens"] += prompt_tokens
        self._counts["tokens"] += tokens

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()

    def _call(self, path: str, body: Mapping[str, Any], route: str, optional: Collection[str]) -> _Call:
        sent = {name: value for name, value in body.items() if name not in self.dropped or name not in optional}
        return _Call(path, json.dumps(sent).encode(), route, frozenset(optional) & sent.keys())

    def _drop(self, failure: _Failure) -> None:
        """Leave the refused fields out from now on, and say so once."""
        new = sorted(failure.refused - self.dropped)
        self.dropped |= failure.refused
        if new:
            fields = ", ".join(new)
            _log.warning("%s: requests go on without the refused %s (endpoint.without)", failure.message, fields)

    def _order(self, route: str) -> list[_Host]:
        """Endpoints for a conversation, first choice first; those that refuse connections come last."""
        if len(self._hosts) == 1:
            return self._hosts
        now = time.monotonic()

        def place(host: _Host) -> tuple[bool, float]:
            digest = hashlib.blake2b(f"{host.url} {route}".encode(), digest_size=8).digest()
            uniform = (int.from_bytes(digest, "little") + 1) / (2**64 + 1)
            return host.down_until > now, math.log(uniform) / -host.weight

        return sorted(self._hosts, key=place)

    async def _try(self, host: _Host, call: _Call, read: Callable[[Any], T], deadline: asyncio.Timeout) -> T:
        loop = asyncio.get_running_loop()
        left = (deadline.when() or 0.0) - loop.time()
        deadline.reschedule(None)
        async with host.budget.slot() as slot:
            deadline.reschedule(loop.time() + left)
            data: Any = None
            try:
                data = await self._post(host, call)
                answer = read(data)
            except Unusable as error:
                head = self._masked(json.dumps(data))
                message = f"{host.url} gave an answer that cannot be used: {error}; it begins with {head}"
                raise _Failure("UNUSABLE", message) from None
            except _Failure as error:
                slot.overloaded = error.code in ("OVERLOADED", "TIMEOUT")
                raise
            slot.answered = True
            return answer

    async def _post(self, host: _Host, call: _Call) -> Any:
        try:
            async with asyncio.timeout(self.settings.timeout_seconds):
                status, headers, raw = await self._exchange(host, call)
        except TimeoutError:
            raise _Failure("TIMEOUT", f"{host.url} took longer than {self.settings.timeout_seconds:g} s") from None
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            host.down_until = time.monotonic() + COOL_OFF
            raise _Failure("CONNECTION", f"{host.url} cannot be reached: {_cause(error)}") from None
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise _Failure("CONNECTION", f"{host.url} broke off: {type(error).__name__} {error}") from None
        if status != 200:
            message = f"{host.url} answered {status}: {self._masked(message_of(raw))}"
            refused = refused_fields(raw, call.optional) if status in (400, 422) else frozenset()
            raise _refusal(status, headers, message, refused)
        try:
            return clean_json(json.loads(raw))
        except (ValueError, RecursionError):
            head = self._masked(message_of(raw))
            raise _Failure("NOT_JSON", f"{host.url} answered what is no JSON: {head!r}") from None

    async def _exchange(self, host: _Host, call: _Call) -> tuple[int, httpx.Headers, bytes]:
        if self._client is None:
            headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=self.settings.concurrency)
            timeout = httpx.Timeout(None, connect=CONNECT_SECONDS)
            self._client = httpx.AsyncClient(timeout=timeout, limits=limits, headers=headers)
        told = {"Content-Type": "application/json", **dict.fromkeys(SESSION, call.route)}
        method = "GET" if call.content is None else "POST"
        request = self._client.build_request(method, f"{host.url}{call.path}", content=call.content, headers=told)
        response = await self._client.send(request, stream=True)
        try:
            parts, size = [], 0
            async for part in response.aiter_bytes():
                parts.append(part)
                size += len(part)
                if size > MOST_BYTES:
                    raise _Failure("UNUSABLE", f"{host.url} answered more than {MOST_BYTES} bytes")
            return response.status_code, response.headers, b"".join(parts)
        finally:
            await response.aclose()

    def _masked(self, text: str) -> str:
        """The start of a text for people; the key is never in it."""
        return (text.replace(self._key, "***") if self._key else text)[:300]

    def _pause(self, attempt: int, failure: _Failure, deadline: asyncio.Timeout) -> float | None:
        """Seconds to wait before the next attempt; ``None`` where there is to be none."""
        if failure.final or attempt == self.settings.retries:
            return None
        pause = max(failure.pause, self._jitter.uniform(0, min(LONGEST_PAUSE, FIRST_PAUSE * 2**attempt)))
        left = (deadline.when() or 0.0) - asyncio.get_running_loop().time()
        return pause if pause <= left else None

    def _fault(self, code: str, message: str) -> PolicyError:
        self._counts[f"faults/{code}"] += 1
        return PolicyError(code, message)


def _refusal(status: int, headers: Mapping[str, str], message: str, refused: frozenset[str]) -> _Failure:
    if status in _OVERLOADED:
        return _Failure("OVERLOADED", message, pause=_retry_after(headers.get("Retry-After", "")))
    if status in _RETRIED or status >= 500:
        return _Failure("SERVER", message, pause=_retry_after(headers.get("Retry-After", "")))
    too_long = status in (400, 413, 422) and any(mark in message.lower() for mark in _TOO_LONG)
    if too_long:
        return _Failure("TOO_LONG", message, final=True)
    return _Failure("REFUSED", message, final=True, refused=refused, not_found=status == 404)


def _cause(error: BaseException) -> str:
    """What the system says of a connection that failed, which httpx keeps some causes down."""
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, socket.gaierror):
            return str(inner.strerror)
        if isinstance(inner, OSError) and inner.errno:
            return os.strerror(inner.errno)
        inner = inner.__cause__ or inner.__context__
    return str(error) or f"it took no connection within {CONNECT_SECONDS:g} s"


def _retry_after(value: str) -> float:
    """Seconds that a server asks to wait, written as a number or as a date; 0 where it asks for none."""
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError):
        return 0.0
