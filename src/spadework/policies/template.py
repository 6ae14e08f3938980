"""A tokenizer's own chat template as a ``Template`` of token ids.

Nothing here knows a model family: what follows a reply is found by rendering the history with a sentinel in the
reply's place and reading what comes after it, and dropped thinking by looking whether sentinels in it survive.

Only the template writes control tokens. One that stands in a message or a tool's schema, such as ``<|im_end|>`` in a
program's feedback, is cut in two by a sentinel before the rendering, and the rendering is encoded piece by piece: so it
becomes the tokens of its letters, and can neither open a turn nor end one. All other text is encoded as one piece.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from jinja2 import TemplateError

from spadework.errors import ConfigError
from spadework.policies.base import Message
from spadework.policies.chat import Messages, Tools
from spadework.policies.thinking import Thinking, Thought, template_options, thought_of
from spadework.scan import THINK_END

_TRIAL = "SPADEWORK-TRIAL"
"""Stands in messages of ours, to see whether a template shows them."""
_END_NAMES = ("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>", "<|end|>", "<|endoftext|>")


class HFTemplate:
    """``Template`` over a transformers tokenizer.

    Args:
        tokenizer: A ``PreTrainedTokenizerBase`` with a chat template.
        stop_tokens: Further ids that end a turn, e.g. those of the model's generation config.
        options: Variables for the template, e.g. ``{"enable_thinking": False}``.

    Raises:
        ConfigError: The tokenizer has no chat template, or one that drops replies.
    """

    def __init__(
        self, tokenizer: Any, stop_tokens: Iterable[int] = (), options: Mapping[str, Any] | None = None
    ) -> None:
        if not getattr(tokenizer, "chat_template", None):
            raise ConfigError(
                f"The tokenizer of {tokenizer.name_or_path!r} has no chat template, so it cannot hold a conversation. "
                "Use an instruction-tuned model."
            )
        self._tokenizer = tokenizer
        self._options = dict(options or {})
        self._end: int | None = None
        self._can: dict[str, bool] = {}
        self._switched: dict[bool, HFTemplate] = {}
        self._stop = frozenset({*stop_tokens, *_end_tokens(tokenizer)})

    @property
    def stop_tokens(self) -> frozenset[int]:
        """Ids that end a turn: end of sequence, and the end-of-turn token of the template."""
        return self._stop

    def switched(self, thinking: Thinking) -> HFTemplate:
        """The template with thinking on or off; itself where nothing is asked for. Raises ``ConfigError``."""
        if thinking is None:
            return self
        on = thinking != "off"
        if on not in self._switched:
            options = template_options(thinking, self._prompt, str(self._tokenizer.chat_template))
            self._switched[on] = HFTemplate(self._tokenizer, self._stop, {**self._options, **options})
        return self._switched[on]

    @cached_property
    def thought(self) -> Thought:
        """The texts around a thought."""
        return thought_of(self._options, lambda options: self._prompt({**self._options, **options}))

    def opening(self, messages: Messages, tools: Tools, prefill: str) -> tuple[int, ...]:
        """Ids of the whole rendering, the prompt for the assistant's turn and ``prefill``.

        A ``prefill`` begins an answer: a thought that the prompt opens is closed before it.
        """
        cut = self._sentinel(messages, tools, prefill)
        closing = self.thought.closing if prefill and self.thought.opened else ""
        return self._encode(self._render(messages, tools, cut) + closing + self._spell(prefill, cut), cut)

    def continuation(self, history: Messages, added: Messages, tools: Tools) -> tuple[int, ...] | None:
        """Ids after the last reply, or None where the template drops thinking that the history still holds."""
        cut = self._sentinel([*history, *added], tools)
        place = f"{cut}REPLY{cut}"
        if any(THINK_END in message["content"] for message in history) and self._drops(history, added, tools, place):
            return None
        marked: Message = {"role": "assistant", "content": place}
        text = self._render([*history[:-1], marked, *added], tools, cut)
        _, found, after = text.rpartition(place)
        if not found:
            raise ConfigError("The chat template does not render the assistant's messages, so it cannot be used.")
        return self._encode(after, cut)

    def reply(self, text: str) -> tuple[int, ...]:
        """Ids of ``text`` and of the token that the template ends a turn with."""
        if self._end is None:
            turns: list[Message] = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
            tail = self.continuation(turns, [{"role": "user", "content": "c"}], ()) or ()
            self._end = next((token for token in tail if token in self._stop), self._tokenizer.eos_token_id)
        return (*self.encode(text), self._end)

    def decode(self, tokens: Sequence[int]) -> str:
        """Text of the ids without special tokens."""
        text: str = self._tokenizer.decode(list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return text

    def marks(self, text: str) -> tuple[int, ...]:
        """Ids of a text that the template itself could write, with its control tokens."""
        return tuple(self._tokenizer.encode(text, add_special_tokens=False))

    def encode(self, text: str) -> tuple[int, ...]:
        """Ids of a text that is no template's: a control token in it is encoded as its letters."""
        cut = self._sentinel((), (), text)
        return self._encode(self._spell(text, cut), cut)

    @cached_property
    def _control(self) -> re.Pattern[str]:
        """Finds tokens that open or end a turn or a text: special ones, and those that the template writes itself.

        It matches the first character of each, so that it finds those too that overlap. Other added tokens, such as
        ``<tool_call>``, are the model's vocabulary: it writes them itself, and they are left whole.
        """
        tokenizer = self._tokenizer
        added = list(tokenizer.added_tokens_decoder.values())
        turns: list[Message] = [{"role": role, "content": "a"} for role in ("user", "assistant", "user")]
        written = self._apply(turns, (), prompt=False)
        control = {token.content for token in added if token.special or token.content in written}
        control |= {str(tokenizer.convert_ids_to_tokens(token)) for token in self._stop}
        control |= set(map(str, tokenizer.all_special_tokens))
        rests: dict[str, list[str]] = {}
        for token in control:
            if len(token) > 1:
                rests.setdefault(token[0], []).append(re.escape(token[1:]))
        found = [f"{re.escape(first)}(?={'|'.join(behind)})" for first, behind in rests.items()]
        return re.compile("|".join(found) or "(?!)")

    def _sentinel(self, messages: Messages, tools: Tools, text: str = "") -> str:
        """A string that stands nowhere in what is to be rendered: noncharacters, which no text should hold at all."""
        texts = [text, *(message["content"] for message in messages), json.dumps(list(tools), ensure_ascii=False)]
        sentinel = "\ufdd0\ufdd1"
        while any(sentinel in one for one in texts):
            sentinel += "\ufdd1"
        return sentinel

    def _spell(self, text: str, cut: str) -> str:
        """The text with every control token in it cut in two by ``cut``."""
        return self._control.sub(lambda found: found[0] + cut, text)

    def _encode(self, rendered: str, cut: str) -> tuple[int, ...]:
        """Ids of a rendering whose pieces, between cuts, are encoded each by itself."""
        pieces = (self._tokenizer.encode(piece, add_special_tokens=False) for piece in rendered.split(cut))
        return tuple(token for piece in pieces for token in piece)

    def _render(self, messages: Messages, tools: Tools, cut: str, prompt: bool = True) -> str:
        """The template's text; tools and tools' messages that it does not show are said in other messages."""
        if tools and not self._shows("tools"):
            messages, tools = _told_tools(messages, tools), ()
        if any(message["role"] == "tool" for message in messages) and not self._shows("results"):
            messages = _without_tool_role(messages)
        spelt: list[Message] = []
        for message in messages:
            copy = message.copy()
            copy["content"] = self._spell(message["content"], cut)
            spelt.append(copy)
        return self._apply(spelt, [self._spell_all(tool, cut) for tool in tools], prompt)

    def _spell_all(self, value: Any, cut: str) -> Any:
        """A tool's schema with ``_spell`` on every text and key of it."""
        if isinstance(value, str):
            return self._spell(value, cut)
        if isinstance(value, Mapping):
            return {self._spell_all(key, cut): self._spell_all(item, cut) for key, item in value.items()}
        return [self._spell_all(item, cut) for item in value] if isinstance(value, list | tuple) else value

    def _shows(self, what: str) -> bool:
        """Whether the template shows ``tools``, or messages of the role ``tool`` (``results``); tried once."""
        if what not in self._can:
            mark = _TRIAL
            turns: list[Message] = [{"role": "user", "content": "a"}]
            schema = {"name": mark, "description": "b", "parameters": {"type": "object", "properties": {}}}
            tools = [{"type": "function", "function": schema}] if what == "tools" else []
            if what == "results":
                turns += [{"role": "assistant", "content": "b"}, {"role": "tool", "content": mark}]
            try:
                self._can[what] = mark in self._apply(turns, tools, True)
            except (TemplateError, TypeError, ValueError):
                self._can[what] = False
        return self._can[what]

    def _prompt(self, options: Mapping[str, Any]) -> str:
        """A short conversation and the prompt for the assistant's turn, under the template's variables ``options``."""
        text: str = self._tokenizer.apply_chat_template(
            [{"role": "user", "content": "a"}], add_generation_prompt=True, tokenize=False, **options
        )
        return text

    def _apply(self, messages: Messages, tools: Tools, prompt: bool) -> str:
        text: str = self._tokenizer.apply_chat_template(
            [dict(message) for message in messages],
            tools=[dict(tool) for tool in tools] or None,
            add_generation_prompt=prompt,
            tokenize=False,
            **self._options,
        )
        return text

    def _drops(self, history: Messages, added: Messages, tools: Tools, place: str) -> bool:
        """Whether thinking that is rendered before ``added`` is no longer after it; ``place`` stands in no message."""
        marks = {}
        marked: list[Message] = []
        for index, message in enumerate(history):
            content = message["content"]
            if message["role"] == "assistant" and THINK_END in content:
                marks[index] = mark = f"{place}{index}{place}"
                content = f"<think>\n{mark}\n{THINK_END}\n\n{content.rpartition(THINK_END)[2].lstrip()}"
            copy = message.copy()
            copy["content"] = content
            marked.append(copy)
        before = self._render(marked, tools, place, prompt=False)
        after = self._render([*marked, *added], tools, place)
        return any(mark in before and mark not in after for mark in marks.values())


def _told_tools(messages: Messages, tools: Tools) -> list[Message]:
    """The tools as text at the end of the first message."""
    schemas = "\n".join(json.dumps(tool.get("function", tool)) for tool in tools)
    first = messages[0].copy()
    first["content"] += f"\n\nTools:\n{schemas}"
    return [first, *messages[1:]]


def _without_tool_role(messages: Messages) -> list[Message]:
    """What tools say is said by the user; neighbours of his become one message, as strict templates want it."""
    said: list[Message] = []
    for message in messages:
        role = "user" if message["role"] == "tool" else message["role"]
        if said and said[-1]["role"] == role == "user":
            said[-1]["content"] += f"\n{message['content']}"
        else:
            said.append({**message, "role": role})
    return said


def _end_tokens(tokenizer: Any) -> set[int]:
    """End of sequence, and every known end-of-turn token that the vocabulary has."""
    vocabulary = tokenizer.get_vocab()
    ids = {vocabulary[name] for name in _END_NAMES if name in vocabulary}
    if tokenizer.eos_token_id is not None:
        ids.add(tokenizer.eos_token_id)
    return ids
