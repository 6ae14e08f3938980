from __future__ import annotations

from typing import Any

import pytest

from spadework.errors import ConfigError, PolicyError
from spadework.policies.base import Completion, SamplingParams
from spadework.policies.chat import TokenChat
from spadework.policies.local.tiny import build_byte_tokenizer
from spadework.policies.template import HFTemplate

USER = {"role": "user", "content": "One."}
NEXT = {"role": "user", "content": "Two."}
PARAMS = SamplingParams(8)

# The parts of Qwen3's template that matter: thinking is kept only after the last message of the user.
THINKING = (
    "{% set last = namespace(user=0) %}"
    "{% for m in messages %}{% if m.role == 'user' %}{% set last.user = loop.index0 %}{% endif %}{% endfor %}"
    "{% for m in messages %}{% set content = m.content %}"
    "{% if m.role == 'assistant' and '</think>' in content and loop.index0 < last.user %}"
    "{% set content = content.split('</think>')[-1].lstrip('\\n') %}{% endif %}"
    "<|im_start|>{{ m.role }}\n{{ content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


class Says:
    """A sampler that says what it is told to, and notes the rows that it continued."""

    def __init__(self, tokenizer: Any, *replies: str) -> None:
        self.tokenizer = tokenizer
        self.replies = list(replies)
        self.rows: list[str] = []
        self.version = 0

    async def sample(self, tokens: Any, params: SamplingParams, key: Any) -> Completion:
        self.rows.append(self.tokenizer.decode(list(tokens)))
        text = self.replies.pop(0)
        if text == "FAIL":
            raise PolicyError("DOWN", "no answer")
        ids = tuple(self.tokenizer.encode(text, add_special_tokens=False))
        reason = "stop" if text.endswith("<|im_end|>") else "length"
        return Completion(text.removesuffix("<|im_end|>"), ids, (-1.0,) * len(ids), reason, self.version)


def open_chat(*replies: str, template: str | None = None, **options: Any) -> tuple[TokenChat, Says, Any]:
    tokenizer = build_byte_tokenizer()
    if template:
        tokenizer.chat_template = template
    sampler = Says(tokenizer, *replies)
    return TokenChat(sampler, HFTemplate(tokenizer), [USER], **options), sampler, tokenizer


async def test_an_ended_reply_is_followed_by_the_rest_of_the_template() -> None:
    chat, _, tokenizer = open_chat("hi<|im_end|>", "ho<|im_end|>")
    await chat.reply(PARAMS, (0,))
    chat.observe(NEXT)
    await chat.reply(PARAMS, (1,))
    (segment,) = chat.segments
    text = tokenizer.decode(list(segment.tokens))
    assert text == (
        "<|im_start|>user\nOne.<|im_end|>\n<|im_start|>assistant\nhi<|im_end|>\n"
        "<|im_start|>user\nTwo.<|im_end|>\n<|im_start|>assistant\nho<|im_end|>"
    )
    sampled = [token for token, mask in zip(segment.tokens, segment.loss_mask, strict=True) if mask]
    assert tokenizer.decode(sampled) == "hi<|im_end|>ho<|im_end|>"


async def test_a_segment_has_one_version() -> None:
    """Where the weights change between two turns, the second stands in a row of its own with the first as prompt."""
    chat, sampler, _ = open_chat("hi<|im_end|>", "ho<|im_end|>", "ha<|im_end|>")
    await chat.reply(PARAMS, (0,))
    sampler.version = 3
    for turn in (1, 2):
        chat.observe(NEXT)
        await chat.reply(PARAMS, (turn,))
    old, new = chat.segments
    assert (old.policy_version, new.policy_version) == (0, 3)
    assert new.tokens[: len(old.tokens)] == old.tokens
    assert not any(new.loss_mask[: len(old.tokens)])
    assert new.sampled == 2 * old.sampled
    assert chat.length == len(new.tokens)


async def test_a_cut_reply_gets_an_end_of_turn_that_does_not_train() -> None:
    chat, sampler, tokenizer = open_chat("hi", "ho<|im_end|>")
    await chat.reply(PARAMS, (0,))
    chat.observe(NEXT)
    await chat.reply(PARAMS, (1,))
    assert "assistant\nhi<|im_end|>\n<|im_start|>user\nTwo." in sampler.rows[1]
    (segment,) = chat.segments
    sampled = [token for token, mask in zip(segment.tokens, segment.loss_mask, strict=True) if mask]
    assert tokenizer.decode(sampled) == "hiho<|im_end|>"


async def test_several_messages_are_rendered_together() -> None:
    chat, sampler, _ = open_chat("hi<|im_end|>", "ho<|im_end|>")
    await chat.reply(PARAMS, (0,))
    chat.observe({"role": "tool", "content": "r1"})
    length = chat.length
    chat.observe({"role": "tool", "content": "r2"})
    assert chat.length > length
    await chat.reply(PARAMS, (1,))
    assert sampler.rows[1].endswith(
        "<|im_start|>tool\nr1<|im_end|>\n<|im_start|>tool\nr2<|im_end|>\n<|im_start|>assistant\n"
    )


async def test_tools_reach_the_template() -> None:
    chat, sampler, _ = open_chat("hi<|im_end|>", "ho<|im_end|>", tools=[{"name": "lookup"}])
    await chat.reply(PARAMS, (0,))
    chat.observe(NEXT)
    await chat.reply(PARAMS, (1,))
    assert sampler.rows[0].count("lookup") == sampler.rows[1].count("lookup") == 1


async def test_prefill_begins_the_first_reply() -> None:
    chat, sampler, _ = open_chat("Env<|im_end|>", "ho<|im_end|>", prefill="class ")
    reply = await chat.reply(PARAMS, (0,))
    assert reply.text == "Env"
    assert sampler.rows[0].endswith("<|im_start|>assistant\nclass ")
    chat.observe(NEXT)
    await chat.reply(PARAMS, (1,))
    assert "class Env<|im_end|>\n<|im_start|>user\nTwo." in sampler.rows[1]


async def test_dropped_thinking_forks_a_segment() -> None:
    replies = ("<think>\nhm\n</think>\n\none<|im_end|>", "<think>\nso\n</think>\n\ntwo<|im_end|>")
    chat, sampler, tokenizer = open_chat(*replies, template=THINKING)
    await chat.reply(PARAMS, (0,))
    chat.observe(NEXT)
    await chat.reply(PARAMS, (1,))
    assert "hm" not in sampler.rows[1]
    assert "<|im_start|>assistant\none<|im_end|>" in sampler.rows[1]
    first, second = chat.segments
    assert "hm" in tokenizer.decode(list(first.tokens))
    sampled = [token for token, mask in zip(second.tokens, second.loss_mask, strict=True) if mask]
    assert tokenizer.decode(sampled) == replies[1]


async def test_thinking_that_the_template_keeps_does_not_fork() -> None:
    chat, sampler, _ = open_chat("<think>\nhm\n</think>\n\ncall<|im_end|>", "ho<|im_end|>", template=THINKING)
    await chat.reply(PARAMS, (0,))
    chat.observe({"role": "tool", "content": "result"})
    await chat.reply(PARAMS, (1,))
    assert "hm" in sampler.rows[1]
    assert len(chat.segments) == 1


async def test_a_failure_leaves_the_conversation_as_it_was() -> None:
    chat, sampler, _ = open_chat("FAIL", "hi<|im_end|>")
    length = chat.length
    with pytest.raises(PolicyError):
        await chat.reply(PARAMS, (0,))
    assert (chat.length, chat.segments) == (length, ())
    await chat.reply(PARAMS, (0,))
    assert sampler.rows[0] == sampler.rows[1]


async def test_an_unanswered_observation_is_no_record() -> None:
    chat, _, _ = open_chat("hi<|im_end|>")
    await chat.reply(PARAMS, (0,))
    (before,) = chat.segments
    chat.observe(NEXT)
    assert chat.segments == (before,)
    assert chat.length > len(before.tokens)


def test_a_tokenizer_without_a_chat_template_is_refused() -> None:
    tokenizer = build_byte_tokenizer()
    tokenizer.chat_template = None
    with pytest.raises(ConfigError, match="chat template"):
        HFTemplate(tokenizer)


# The parts of Qwen3's template that matter to tools: they are listed in the system message, results are the user's.
TOOLS = (
    "{% set last = namespace(user=0) %}"
    "{% for m in messages %}{% if m.role == 'user' %}{% set last.user = loop.index0 %}{% endif %}{% endfor %}"
    "{% if tools %}<|im_start|>system\n{{ messages[0].content if messages[0].role == 'system' }}"
    "{% for tool in tools %}{{ tool | tojson }}{% endfor %}<|im_end|>\n{% endif %}"
    "{% for m in messages %}{% if m.role == 'tool' %}"
    "{% if messages[loop.index0 - 1].role != 'tool' %}<|im_start|>user{% endif %}{{ '\n' }}<tool_response>\n{{ m.content }}{{ '\n' }}</tool_response>"
    "{% if loop.last or messages[loop.index0 + 1].role != 'tool' %}<|im_end|>\n{% endif %}"
    "{% elif m.role != 'system' or not tools %}{% set content = m.content %}"
    "{% if m.role == 'assistant' and '</think>' in content and loop.index0 < last.user %}"
    "{% set content = content.split('</think>')[-1].lstrip('\\n') %}{% endif %}"
    "<|im_start|>{{ m.role }}\n{{ content }}<|im_end|>\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
STRICT = (
    "{% for m in messages %}{% if m.role not in ('user', 'assistant') or (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CALL = '<think>\nhm\n</think>\n\n<tool_call>{"name": "lookup"}</tool_call><|im_end|>'
LOOKUP = [{"type": "function", "function": {"name": "lookup", "description": "", "parameters": {"type": "object"}}}]


async def serve(template: str) -> tuple[TokenChat, Says]:
    """Two tool turns, the second with a next instruction behind it, and a third."""
    chat, sampler, _ = open_chat(CALL, CALL, CALL, "<answer>done</answer><|im_end|>", template=template, tools=LOOKUP)
    await chat.reply(PARAMS, (0,))
    for number in (1, 2, 3):
        chat.observe({"role": "tool", "content": f"r{number}"})
        if number == 2:
            chat.observe({"role": "user", "content": "Next."})
        await chat.reply(PARAMS, (number,))
    return chat, sampler


async def test_several_tool_turns_grow_one_segment_until_the_user_speaks() -> None:
    chat, sampler = await serve(TOOLS)
    assert sampler.rows[1].endswith(
        "<|im_end|>\n<|im_start|>user\n<tool_response>\nr1\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
    )
    assert sampler.rows[2].endswith(
        "r2\n</tool_response><|im_end|>\n<|im_start|>user\nNext.<|im_end|>\n<|im_start|>assistant\n"
    )
    assert [row.count("lookup") for row in sampler.rows] == [1, 2, 3, 4], "the tool, and each call once"
    assert [row.count("<think>") for row in sampler.rows] == [0, 1, 0, 1], "thinking ends with the user's turn"
    assert len(chat.segments) == 2
    assert [sum(map(int, segment.loss_mask)) > 0 for segment in chat.segments] == [True, True]


async def test_a_template_without_tools_has_them_told_by_others() -> None:
    chat, sampler = await serve(STRICT)
    assert sampler.rows[0].startswith("<|im_start|>user\nOne.\n\nTools:\n{")
    assert sampler.rows[1].endswith("<|im_end|>\n<|im_start|>user\nr1<|im_end|>\n<|im_start|>assistant\n")
    assert sampler.rows[2].endswith("<|im_start|>user\nr2\nNext.<|im_end|>\n<|im_start|>assistant\n")
    assert len(chat.segments) == 1
