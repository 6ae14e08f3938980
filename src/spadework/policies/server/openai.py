"""Any OpenAI-compatible chat endpoint (vLLM, SGLang, llama.cpp, Ollama, hosted) as a ``Policy``, never a ``Trainer``.

The server renders the history, so what it says about token ids is taken as it is: where it gives the prompt's ids and
the sampled ones with their log-probabilities, ``segments`` holds them (a new one where the rendering does not continue
the old), else a conversation is text alone. vLLM's log-probabilities are those of temperature 1 unless it is started
with ``--logprobs-mode processed_logprobs``.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from spadework.config import EndpointSection
from spadework.errors import ConfigError, PolicyError
from spadework.policies.base import Completion, Message, Metrics, SamplingParams
from spadework.policies.chat import Record
from spadework.policies.server.endpoints import Endpoints
from spadework.policies.server.openai_wire import (
    Answer,
    Body,
    optional_fields,
    read_answer,
    request_body,
    thinking_field,
    told_tools,
    user_side,
)
from spadework.policies.thinking import Thinking
from spadework.types import Key, Segment, derive_seed

CHARACTERS_PER_TOKEN = 3.5
"""Of the estimate of lengths: English text has 4 or more, programs about 3."""


class OpenAICompatPolicy:
    """A model behind one or several endpoints. Its version stays 0: nobody here trains it.

    Args:
        settings: where it is served and how it is asked.
        model: its name there.
        run_seed: with a request's key, the ``seed`` that the server is sent.

    Raises:
        ConfigError: there is no address, or the environment variable of the key is not set or holds no key.
    """

    version = 0

    def __init__(self, settings: EndpointSection, model: str, run_seed: int = 0) -> None:
        if not settings.urls:
            raise ConfigError(
                f'no address for the model {model!r}: set endpoint.urls, e.g. ["http://localhost:8000/v1"]'
            )
        key = os.environ.get(settings.key_env, "").strip() if settings.key_env else ""
        if settings.key_env and not key:
            raise ConfigError(f"endpoint.key_env names {settings.key_env}, but that environment variable is not set")
        if not (key.isascii() and key.isprintable()):  # such a header would come back in an error, key and all
            raise ConfigError(f"endpoint.key_env names {settings.key_env}, which holds more than a key's characters")
        self.settings, self.model, self.run_seed = settings, model, run_seed
        self.endpoints = Endpoints(settings, key)

    def chat(
        self, messages: Sequence[Message], *, tools: Sequence[Mapping[str, Any]] = (), prefill: str = ""
    ) -> EndpointChat:
        """Open a conversation. A ``prefill`` needs a server that continues an assistant's message."""
        return EndpointChat(self, messages, tools, prefill)

    def check_thinking(self, thinking: Thinking) -> None:
        """Raises ``ConfigError`` where no field of a request could say so."""
        if thinking is not None:
            thinking_field(self.settings, thinking)

    async def ask(
        self,
        messages: Sequence[Body],
        tools: Sequence[Mapping[str, Any]],
        params: SamplingParams,
        key: Key,
        route: str,
    ) -> Answer:
        """One request. Raises ``PolicyError``."""
        if params.grammar is not None:
            raise PolicyError("REFUSED", "a grammar was asked for, which this endpoint cannot be bound to")
        seed = derive_seed(self.run_seed, *key) % 2**31
        body = request_body(self.settings, self.model, messages, tools, params, seed)
        optional = optional_fields(self.settings, body)
        answer = await self.endpoints.ask(
            "/chat/completions", body, route, lambda data: read_answer(data, params), optional
        )
        self.endpoints.count(answer.prompt_count, answer.completion_count)
        return answer

    @contextmanager
    def attend(self) -> Iterator[None]:
        """The server batches as it likes: nobody waits."""
        yield

    def count_tokens(self, text: str) -> int:
        """An estimate from the text's length."""
        return int(len(text) / CHARACTERS_PER_TOKEN) + bool(text)

    @property
    def dropped(self) -> tuple[str, ...]:
        """Fields that the server refused, so that no request holds them any more."""
        return tuple(sorted(self.endpoints.dropped))

    def take_metrics(self) -> Metrics:
        """Counts since the last time: requests, retries and faults by code, tokens, cost."""
        return self.endpoints.take_metrics()

    async def close(self) -> None:
        """Close the connections."""
        await self.endpoints.close()


class EndpointChat:
    """One conversation with a server that keeps nothing: all of it is sent each time."""

    def __init__(
        self,
        policy: OpenAICompatPolicy,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, Any]],
        prefill: str,
    ) -> None:
        self._policy, self._tools, self._prefill = policy, tuple(tools), prefill
        opening: list[Message] = [message.copy() for message in messages]
        if tools and policy.settings.tools == "text":
            opening[0]["content"] += f"\n\n{told_tools(tools)}"
        self._history: list[Body] = []
        self._added = opening
        self._awaiting = True
        self._route = hashlib.blake2b(json.dumps(opening).encode(), digest_size=8).hexdigest()
        self._counted = 0
        self._records: list[Record] = []
        self._text_only = False

    async def reply(self, params: SamplingParams, key: Key) -> Completion:
        """See ``base.Chat``; after an error the conversation is as it was.

        Raises:
            PolicyError: no usable answer.
            ValueError: nobody has spoken since the last reply.
        """
        if not self._awaiting:
            raise ValueError("the assistant spoke last: observe() a message before the next reply()")
        history = self._heard()
        begun: list[Body] = [{"role": "assistant", "content": self._prefill}] if self._prefill else []
        try:
            answer = await self._policy.ask([*history, *begun], self._tools, params, key, self._route)
        except PolicyError as error:
            raise _explained(error) from None
        completion = Completion(answer.text, answer.tokens, answer.logprobs, answer.finish_reason, 0)
        self._record(answer, completion, params.temperature)
        said = {**answer.message, "content": self._prefill + answer.message["content"]}
        self._history, self._added, self._prefill, self._awaiting = [*history, said], [], "", False
        self._counted = (answer.prompt_count + answer.completion_count) or self._estimate(self._history)
        return completion

    def observe(self, message: Message) -> None:
        """See ``base.Chat``."""
        self._added.append(message)
        self._awaiting = True

    def say(self, text: str) -> None:
        """Append a given assistant's message; from here on the conversation has no token record.

        Raises:
            ValueError: nobody has spoken since the last reply.
        """
        if not self._awaiting:
            raise ValueError("the assistant spoke last: observe() a message before the next say()")
        self._history = [*self._heard(), {"role": "assistant", "content": self._prefill + text}]
        self._added, self._prefill, self._awaiting, self._text_only = [], "", False, True
        self._counted = self._estimate(self._history)

    @property
    def length(self) -> int:
        """Tokens so far: as the server counted them, with an estimate of what was said since."""
        prefill = self._policy.count_tokens(self._prefill)
        return self._counted + self._estimate(self._added) + prefill

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The token record; empty where the server gave no ids for any one reply."""
        return () if self._text_only else tuple(record.freeze() for record in self._records)

    def _heard(self) -> list[Body]:
        last = self._history[-1] if self._history else None
        return [*self._history, *user_side(self._added, last)]

    def _record(self, answer: Answer, completion: Completion, temperature: float) -> None:
        if not answer.tokens or not answer.prompt:
            self._text_only = True
            return
        record = self._records[-1] if self._records else Record()
        held = len(record.tokens)
        if answer.prompt[:held] != tuple(record.tokens):
            record, held = Record(), 0
        record.append_prompt(answer.prompt[held:])
        record.append_reply(completion, temperature)
        if not self._records or self._records[-1] is not record:
            self._records.append(record)

    def _estimate(self, messages: Sequence[Mapping[str, Any]]) -> int:
        return sum(4 + self._policy.count_tokens(str(message["content"])) for message in messages)


def _explained(error: PolicyError) -> PolicyError:
    """With what to set, where the server cannot continue the reply that a skeleton design begins for it."""
    if "continue_final_message" not in error.fault.message:
        return error
    message = f"{error.fault.message}; it cannot continue a reply that was begun for it: set designer.skeleton = false"
    return PolicyError(error.fault.code, message, error.fault.detail)
