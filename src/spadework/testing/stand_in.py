"""A stand-in for an inference server: an OpenAI-compatible chat endpoint over a ``ScriptedPolicy``.

It serves tests and benchmarks, and lets users try a config without a model (``python -m spadework.testing.stand_in``).
It speaks real HTTP, returns token ids and log-probabilities on request as vLLM does, and fails at configurable rates.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import re
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from spadework.envs.registry import DEFAULT_DOMAIN, find_domain
from spadework.errors import ConfigError
from spadework.policies.base import Message, SamplingParams
from spadework.testing.scripted import ScriptedPolicy

Trouble = Literal["429", "500", "drop", "half_json", "slow", "wrong_ids", "no_choice"]
"""Ways to fail: refuse, report an error, hang up, send half a body, send bytes slowly without end, return ids that
contradict the text, return no choice."""

_CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Manners:
    """The behaviour of the server."""

    latency: Callable[[random.Random], float] = lambda rng: 0.0
    """Draws the seconds to wait before an answer."""
    troubles: Mapping[Trouble, float] = field(default_factory=dict)
    """Way to fail -> share of the requests that fail so."""
    capacity: int = 0
    """The most requests at a time; further ones get a 429. 0 accepts all."""
    retry_after: str = ""
    """Value of the Retry-After header of a 429; empty sends none."""
    ids: bool = True
    """Whether it returns token ids and log-probabilities on request (``return_token_ids``)."""
    parses_calls: bool = False
    """Whether tool calls are returned as ``tool_calls``, as by hosted models, or stay in the text."""
    models: tuple[str, ...] = ()
    """Model names that it serves; a request for another one gets a 404. Empty serves any name."""
    refuses: tuple[str, ...] = ()
    """Request fields that it does not know; a request with one gets a 422 that names it."""


class StandIn:
    """The server: ``async with StandIn(policy, Manners()) as server`` serves at ``server.url`` within the context.

    ``port`` 0 takes a free port. ``requests`` holds the last request bodies, ``met`` counts failures by kind, and
    ``most`` is the largest number of simultaneous requests.
    """

    def __init__(self, policy: ScriptedPolicy, manners: Manners | None = None, seed: int = 0, port: int = 0) -> None:
        self.policy, self.manners, self.port = policy, manners or Manners(), port
        self.requests: deque[dict[str, Any]] = deque(maxlen=1000)
        self.headers: deque[dict[str, str]] = deque(maxlen=1000)
        self.met: Counter[str] = Counter()
        self.served = 0
        self.most = self.busy = 0
        self.url = ""
        self._rng = random.Random(seed)
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> StandIn:
        self._server = await asyncio.start_server(self._connection, "127.0.0.1", self.port)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        tasks = list(self._connections)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client went away, or the server is closed
        finally:
            self._connections.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve one request; returns false when the connection is to be closed."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = json.loads(await reader.readexactly(int(headers.get("content-length", 0))) or b"{}")
        self.requests.append(body)
        self.headers.append(headers)
        self.busy += 1
        self.most = max(self.most, self.busy)
        try:
            return await self._answer(writer, head[0].split()[1], body)
        finally:
            self.busy -= 1

    async def _answer(self, writer: asyncio.StreamWriter, path: str, body: dict[str, Any]) -> bool:
        refusal = self._refusal(path, body)
        if refusal is not None:
            return await self._send(writer, *refusal)
        trouble = self._trouble()
        if trouble is not None:
            self.met[trouble] += 1
        if trouble in ("429", "500"):
            return await self._send(writer, int(trouble), _error("try again later"))
        if trouble == "drop":
            return False
        await asyncio.sleep(self.manners.latency(self._rng))
        answer = await self.answer(path, body)
        if trouble == "no_choice":
            answer["choices"] = []
        if trouble == "wrong_ids":
            answer["choices"][0]["token_ids"] = [1, 2, "three"]
            answer["choices"][0]["logprobs"] = {"content": [{"logprob": -0.5}]}
        if trouble == "half_json":
            text = json.dumps(answer)
            return await self._send(writer, 200, text[: len(text) // 2])
        if trouble == "slow":
            return await self._trickle(writer)
        self.served += 1
        return await self._send(writer, 200, json.dumps(answer))

    def _refusal(self, path: str, body: Mapping[str, Any]) -> tuple[int, str] | None:
        """Status and body of an answer that does not need the policy; ``None`` for a request that is to be served."""
        known = self.manners.models
        if path.endswith("/models"):
            return 200, json.dumps({"data": [{"id": name} for name in known]})
        if self.manners.capacity and self.busy > self.manners.capacity:
            self.met["full"] += 1
            return 429, _error("too many requests")
        if known and body.get("model") not in known:
            return 404, _error(f"The model `{body.get('model')}` does not exist.")
        unknown = sorted(set(self.manners.refuses) & body.keys())
        if unknown:
            self.met["refused"] += 1
            return 422, json.dumps({"detail": f"Unexpected fields in the request: {unknown}"})
        return None

    def _trouble(self) -> Trouble | None:
        draw = self._rng.random()
        for trouble, share in self.manners.troubles.items():
            draw -= share
            if draw < 0:
                return trouble
        return None

    async def answer(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a request. This class treats every path as a chat completion; subclasses may not."""
        prompt = self._prompt(body)
        params = SamplingParams(body.get("max_tokens", 16), temperature=body.get("temperature", 1.0))
        sampled = await self.policy.sample(prompt, params, (body.get("seed", 0),))
        choice: dict[str, Any] = {
            "index": 0,
            "finish_reason": sampled.finish_reason,
            "message": self._said(body, sampled.text),
        }
        answer: dict[str, Any] = {
            "object": "chat.completion",
            "model": body.get("model"),
            "choices": [choice],
            "usage": {"prompt_tokens": len(prompt), "completion_tokens": len(sampled.tokens)},
        }
        if self.manners.ids and body.get("return_token_ids"):
            choice["token_ids"] = list(sampled.tokens)
            choice["logprobs"] = {"content": [{"token": "", "logprob": value} for value in sampled.logprobs]}
            answer["prompt_token_ids"] = list(prompt)
        return answer

    def _prompt(self, body: Mapping[str, Any]) -> tuple[int, ...]:
        messages = [Message(role=one["role"], content=_rendered(one)) for one in body["messages"]]
        begun = messages.pop()["content"] if body.get("continue_final_message") else ""
        return self.policy.template.opening(messages, body.get("tools", ()), begun)

    def _said(self, body: Mapping[str, Any], text: str) -> dict[str, Any]:
        if not (self.manners.parses_calls and body.get("tools")):
            return {"role": "assistant", "content": text}
        calls = []
        for place, written in enumerate(_CALL.findall(text)):
            with contextlib.suppress(ValueError, KeyError):
                call = json.loads(written)
                function = {"name": call["name"], "arguments": json.dumps(call["arguments"])}
                calls.append({"id": f"call_{place}", "type": "function", "function": function})
        content = _CALL.sub("", text).strip() if calls else text
        return {"role": "assistant", "content": content or None, **({"tool_calls": calls} if calls else {})}

    async def _send(self, writer: asyncio.StreamWriter, status: int, text: str) -> bool:
        data = text.encode()
        extra = f"Retry-After: {self.manners.retry_after}\r\n" if status == 429 and self.manners.retry_after else ""
        head = f"HTTP/1.1 {status} .\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n{extra}\r\n"
        writer.write(head.encode() + data)
        await writer.drain()
        return True

    async def _trickle(self, writer: asyncio.StreamWriter) -> bool:
        writer.write(b"HTTP/1.1 200 .\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n")
        while not writer.is_closing():
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.02)
        return False


def _rendered(message: Mapping[str, Any]) -> str:
    """A message's text with its tool calls, as a chat template writes them out."""
    functions = [call["function"] for call in message.get("tool_calls", ())]
    calls = [{"name": one["name"], "arguments": json.loads(one["arguments"])} for one in functions]
    return (message["content"] or "") + "".join(f"<tool_call>{json.dumps(call)}</tool_call>" for call in calls)


def _error(message: str) -> str:
    return json.dumps({"error": {"message": message}})


async def _serve(port: int, domain: str) -> None:
    script = find_domain(domain).demo
    if script is None:
        raise ConfigError(f"the domain {domain!r} has no demo script")
    async with StandIn(ScriptedPolicy(script), port=port) as server:
        print(f"serving at {server.url}", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m spadework.testing.stand_in", description=__doc__)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--domain", default=DEFAULT_DOMAIN, metavar="NAME")
    arguments = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(arguments.port, arguments.domain))
