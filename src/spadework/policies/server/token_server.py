"""A vLLM or SGLang server as a ``Policy`` of token ids: ids go in and come out, so nothing is tokenised twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from spadework.config import EndpointSection
from spadework.errors import PolicyError
from spadework.policies.base import Completion, Message, Metrics, SamplingParams
from spadework.policies.chat import TokenChat
from spadework.policies.server.endpoints import Endpoints
from spadework.policies.server.token_wire import SAMPLE, Sampled, Server, read_sample, sample_body
from spadework.policies.stop_strings import cut_at_stop
from spadework.policies.template import HFTemplate
from spadework.policies.thinking import Thinking
from spadework.types import Key


class TokenPolicy:
    """``Policy`` over a server's sampling calls.

    Args:
        settings: Addresses, kind of server, deadlines.
        model: Its name there.
        template: The model's chat template.
        max_length: Longest row in tokens, prompt and reply together.
    """

    def __init__(self, settings: EndpointSection, model: str, template: HFTemplate, *, max_length: int) -> None:
        self.kind: Server = "sglang" if settings.server == "sglang" else "vllm"
        roots = tuple(url.rstrip("/").removesuffix("/v1") for url in settings.urls)
        self.settings = settings.model_copy(update={"urls": roots})
        self._endpoints = Endpoints(self.settings)
        self._model, self._template = model, template
        self._max_length = max_length
        self.version = 0
        self._first_weights: int | None = None
        """The server's number for the weights that are our version 0; unknown before its first answer."""

    def chat(
        self, messages: Sequence[Message], *, tools: Sequence[Mapping[str, Any]] = (), prefill: str = ""
    ) -> TokenChat:
        """Open a conversation; see ``base.Policy.chat``."""
        return TokenChat(self, self._template, messages, tools=tools, prefill=prefill)

    def check_thinking(self, thinking: Thinking) -> None:
        """Raises ``ConfigError`` where the model's chat template has no such switch."""
        self._template.switched(thinking)

    async def sample(self, tokens: Sequence[int], params: SamplingParams, key: Key) -> Completion:
        """Continue a row of token ids. Raises ``PolicyError``."""
        room = self._max_length - len(tokens)
        if room < 1:
            raise PolicyError("TOO_LONG", f"a prompt of {len(tokens)} tokens leaves no room for a reply")
        if params.grammar is not None:
            raise PolicyError("REFUSED", "a grammar was asked for, which the server is not bound to")
        version, stops = self.version, sorted(self._template.stop_tokens)
        limit = SamplingParams(
            min(params.max_tokens, room), params.temperature, params.top_p, params.top_k, params.stop
        )
        body = sample_body(self.kind, self._model, tokens, limit, stops)
        route = "/".join(map(str, key[:-1]))
        sampled = await self._endpoints.ask(SAMPLE[self.kind], body, route, lambda data: read_sample(self.kind, data))
        self._endpoints.count(len(tokens), len(sampled.tokens))
        return self._completion(sampled, params.stop, self._version_of(sampled, version))

    def _version_of(self, sampled: Sampled, assumed: int) -> int:
        """The version that sampled a reply: the server's own word where it counts its weights, else what we assume.

        Its count and ours begin at different numbers, so the first answer says how far they are apart.
        """
        if sampled.weights is None:
            return assumed
        if self._first_weights is None:
            self._first_weights = sampled.weights - assumed
        return sampled.weights - self._first_weights

    def _completion(self, sampled: Sampled, stops: Sequence[str], version: int) -> Completion:
        cut = cut_at_stop(sampled.tokens, stops, self._template.decode)
        ids, logprobs = sampled.tokens[:cut], sampled.logprobs[:cut]
        ended = ids[-1] in self._template.stop_tokens
        text = self._template.decode(ids[:-1] if ended else ids)
        reason = "stop" if ended or cut < len(sampled.tokens) else sampled.finish_reason
        return Completion(text, ids, logprobs, reason, version)

    @contextmanager
    def attend(self) -> Iterator[None]:
        """The server batches as it likes: nobody waits."""
        yield

    def count_tokens(self, text: str) -> int:
        """Length of a text in tokens, without special tokens around it."""
        return len(self._template.encode(text))

    def take_metrics(self) -> Metrics:
        """Counts since the last time: requests, retries and faults by code, tokens."""
        return self._endpoints.take_metrics()

    def set_version(self, version: int) -> None:
        """Set the version that completions carry from now on."""
        self.version = version

    async def close(self) -> None:
        """Close the connections; the server goes on."""
        await self._endpoints.close()
