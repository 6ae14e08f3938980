"""One conversation over token ids: token-in, token-out (method section 8, fault 16).

What was sampled is appended as sampled. What others say is appended as the text that the chat template puts after the
reply, so a history is never tokenised twice. Where the template rewrites the history (it drops earlier thinking), the
old record ends and a new ``Segment`` starts from the template's own rendering; so it does where the weights changed in
between, with the history as its prompt. Needs neither torch nor transformers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from spadework.policies.base import Completion, Message, SamplingParams
from spadework.policies.thinking import Thinking, Thought
from spadework.scan import THINK_END
from spadework.types import Key, Segment

Tools = Sequence[Mapping[str, Any]]
Messages = Sequence[Message]


class Template(Protocol):
    """A chat template at the level of token ids."""

    @property
    def stop_tokens(self) -> frozenset[int]:
        """Ids that end an assistant's turn when sampled."""
        ...

    @property
    def thought(self) -> Thought:
        """The texts around a thought."""
        ...

    def switched(self, thinking: Thinking) -> Template:
        """The template with thinking on or off. Raises ``ConfigError`` where it has no such switch."""
        ...

    def marks(self, text: str) -> tuple[int, ...]:
        """Ids of a text that the template itself could write, with its control tokens."""
        ...

    def opening(self, messages: Messages, tools: Tools, prefill: str) -> tuple[int, ...]:
        """Ids of the whole history and of the prompt for the assistant's next turn, ending in ``prefill``."""
        ...

    def continuation(self, history: Messages, added: Messages, tools: Tools) -> tuple[int, ...] | None:
        """Ids that follow the last reply: its end of turn, the ``added`` messages, the prompt for the next turn.

        ``history`` ends with the assistant's reply, whose ids are not rendered. None when the template would render
        ``history`` otherwise than it stands, so that nothing can be appended to it.
        """
        ...

    def reply(self, text: str) -> tuple[int, ...]:
        """Ids of a whole assistant message and of what ends its turn, as the model would sample them."""
        ...

    def decode(self, tokens: Sequence[int]) -> str:
        """Text of sampled ids, without ids of the template."""
        ...


class Sampler(Protocol):
    """Continues one row of token ids."""

    async def sample(self, tokens: Sequence[int], params: SamplingParams, key: Key) -> Completion:
        """Sample after ``tokens``. The stop token, if one ended it, is in ``tokens`` of the result, not in its text."""
        ...


class Record:
    """A segment that still grows."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.mask: list[bool] = []
        self.logprobs: list[float] = []
        self.version: int | None = None
        self.temperature = 1.0

    def append_prompt(self, tokens: Sequence[int]) -> None:
        """Ids that were not sampled."""
        self.tokens.extend(tokens)
        self.mask.extend([False] * len(tokens))
        self.logprobs.extend([0.0] * len(tokens))

    def append_reply(self, completion: Completion, temperature: float) -> None:
        """Ids that were."""
        self.temperature = temperature or 1.0  # greedy replies train as the plain distribution
        self.tokens.extend(completion.tokens)
        self.mask.extend([True] * len(completion.tokens))
        self.logprobs.extend(completion.logprobs)
        self.version = completion.policy_version

    def freeze(self) -> Segment:
        """The segment so far."""
        return Segment(tuple(self.tokens), tuple(self.mask), tuple(self.logprobs), self.version or 0, self.temperature)


@dataclass(frozen=True, slots=True)
class Part:
    """Some of a reply: ids that were put before it, and what was sampled after them."""

    prompt: tuple[int, ...]
    sampled: Completion


class TokenChat:
    """``Chat`` for every engine that has token ids.

    Args:
        sampler: What continues a row of ids.
        template: The model's chat template.
        messages: The opening; the assistant speaks next.
        tools: Tool schemas, rendered by the template.
        prefill: Beginning of the assistant's first message: prompt, not sampled, and not in ``Completion.text``.
    """

    def __init__(
        self,
        sampler: Sampler,
        template: Template,
        messages: Messages,
        *,
        tools: Tools = (),
        prefill: str = "",
    ) -> None:
        self._sampler = sampler
        self._template = self._unswitched = template
        self._tools = tuple(tools)
        self._history: list[Message] = list(messages)
        self._added: list[Message] = []
        self._prefill = prefill
        self._records: list[Record] = []
        self._awaiting = True
        self._prompt: tuple[Record, tuple[int, ...]] | None = None

    async def reply(self, params: SamplingParams, key: Key) -> Completion:
        """Sample the assistant's next message and append it; after an error the conversation is as it was.

        Raises:
            PolicyError: The engine gave no usable answer.
            ValueError: Nobody has spoken since the last reply.
        """
        if not self._awaiting:
            raise ValueError("the assistant spoke last: observe() a message before the next reply()")
        template = self._unswitched.switched(params.thinking)
        if template is not self._template:
            self._template, self._prompt = template, None
        record, prompt = self._next_prompt()
        if isinstance(params.thinking, int) and not self._prefill:
            parts = await self._think((*record.tokens, *prompt), params, params.thinking, key)
        else:
            parts = [Part((), await self._sampler.sample((*record.tokens, *prompt), params, key))]
        completion = self._joined(parts)
        self._append(parts, completion.text, params.temperature)
        return completion

    async def _think(self, row: tuple[int, ...], params: SamplingParams, budget: int, key: Key) -> list[Part]:
        """A thought of at most ``budget`` tokens, its marks among them, then an answer of ``params.max_tokens``."""
        template = self._template
        opening, closing = template.marks(template.thought.opening), template.marks(template.thought.closing)
        limit = budget - len(opening) - len(closing)
        if limit < 1:  # there is no room for a thought: an empty one stands in the prompt
            return [Part(made := opening + closing, await self._sampler.sample(row + made, params, key))]
        params_of_thought = replace(params, max_tokens=limit, stop=(THINK_END,), grammar=None)
        thought = await self._sampler.sample(row + opening, params_of_thought, key)
        parts = [Part(opening, thought)]
        if thought.tokens and thought.tokens[-1] in template.stop_tokens:
            return parts
        forced = () if THINK_END in thought.text else closing
        row = (*row, *opening, *thought.tokens, *forced)
        return [*parts, Part(forced, await self._sampler.sample(row, params, (*key, 1)))]

    def _joined(self, parts: Sequence[Part]) -> Completion:
        """The parts as one completion; ids that were forced have log-probability 0."""
        if self._prefill:
            return parts[0].sampled
        template = self._template
        text, tokens, logprobs = template.thought.opened, list[int](), list[float]()
        for part in parts:
            text += template.decode(part.prompt) + part.sampled.text
            tokens += [*part.prompt, *part.sampled.tokens]
            logprobs += [*(0.0 for _ in part.prompt), *part.sampled.logprobs]
        last = parts[-1].sampled
        return replace(last, text=text, tokens=tuple(tokens), logprobs=tuple(logprobs))

    def _append(self, parts: Sequence[Part], text: str, temperature: float = 1.0) -> None:
        """Add a reply to the record, part by part, and its ``text`` to the history."""
        record, prompt = self._next_prompt()
        for part in parts:
            prompt = (*prompt, *part.prompt)
            # A segment has one version: where other weights speak, a new one starts.
            if record.version not in (None, part.sampled.policy_version):
                record, prompt = Record(), (*record.tokens, *prompt)
            record.append_prompt(prompt)
            record.append_reply(part.sampled, temperature)
            if not self._records or self._records[-1] is not record:
                self._records.append(record)
            prompt = ()
        self._history.extend(self._added)
        self._history.append({"role": "assistant", "content": self._prefill + text})
        self._added, self._prefill, self._prompt, self._awaiting = [], "", None, False

    def observe(self, message: Message) -> None:
        """Append a message of someone else; several may come before the next reply."""
        self._added.append(message)
        self._awaiting = True
        self._prompt = None

    def say(self, text: str) -> None:
        """Append a whole assistant message that was given, not sampled, as if sampled with log-probability 0.

        Raises:
            ValueError: Nobody has spoken since the last reply.
        """
        if not self._awaiting:
            raise ValueError("the assistant spoke last: observe() a message before the next say()")
        tokens = self._template.reply(text)
        version = self._next_prompt()[0].version or 0
        self._append([Part((), Completion(text, tokens, (0.0,) * len(tokens), "stop", version))], text)

    @property
    def length(self) -> int:
        """Tokens that the next reply would start from."""
        if not self._awaiting:
            return len(self._records[-1].tokens)
        record, prompt = self._next_prompt()
        return len(record.tokens) + len(prompt)

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The record up to the last reply: an observation that nobody answered trains nothing."""
        return tuple(record.freeze() for record in self._records)

    def _next_prompt(self) -> tuple[Record, tuple[int, ...]]:
        """The record that the next reply goes to, and what must be appended to it first."""
        if self._prompt is None:
            self._prompt = self._build_prompt()
        return self._prompt

    def _build_prompt(self) -> tuple[Record, tuple[int, ...]]:
        template = self._template
        if not self._records:
            return Record(), template.opening([*self._history, *self._added], self._tools, self._prefill)
        record = self._records[-1]
        tail = template.continuation(self._history, self._added, self._tools)
        if tail is None:
            return Record(), template.opening([*self._history, *self._added], self._tools, "")
        ended = bool(record.tokens) and record.tokens[-1] in template.stop_tokens
        if ended and tail and tail[0] in template.stop_tokens:
            tail = tail[1:]
        return record, tail
