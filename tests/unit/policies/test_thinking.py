"""Thinking: the switch in three kinds of templates, and the budget's tokens."""

from __future__ import annotations

from typing import Any

import pytest

from spadework.config import EndpointSection
from spadework.errors import ConfigError
from spadework.policies.base import Completion, SamplingParams
from spadework.policies.chat import TokenChat
from spadework.policies.local.tiny import build_byte_tokenizer
from spadework.policies.server.openai_wire import request_body
from spadework.policies.template import HFTemplate
from spadework.policies.thinking import check_thinking
from spadework.scan import last_box

TURNS = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
PROMPT = "{% if add_generation_prompt %}<|im_start|>assistant\n"
# As Qwen3 documents its switch: an empty thought stands in the prompt where thinking is off.
QWEN = (
    TURNS + PROMPT + "{% if enable_thinking is defined and enable_thinking is false %}"
    "<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
# The other convention: the prompt opens the thought, or ends it at once, by a variable of another name.
OPENS = TURNS + PROMPT + "{% if thinking is defined and thinking %}<think>{% else %}</think>{% endif %}{% endif %}"
ALWAYS = TURNS + PROMPT + "<think>\n{% endif %}"
NEVER = TURNS + PROMPT + "{% endif %}"
USER = {"role": "user", "content": "Which number?"}


class Says:
    """A sampler that says what it is told to, cut at the limit of tokens and after a stop string."""

    def __init__(self, tokenizer: Any, *replies: str) -> None:
        self.tokenizer, self.replies = tokenizer, list(replies)
        self.rows: list[str] = []

    async def sample(self, tokens: Any, params: SamplingParams, key: Any) -> Completion:
        self.rows.append(self.tokenizer.decode(list(tokens)))
        text, reason = self.replies.pop(0), "length"
        for stop in params.stop:
            if stop in text:
                text, reason = text[: text.index(stop) + len(stop)], "stop"
        ids = self.tokenizer.encode(text, add_special_tokens=False)[: params.max_tokens]
        if ids[-1] == self.tokenizer.eos_token_id:
            reason = "stop"
        said = self.tokenizer.decode(ids, skip_special_tokens=True)
        return Completion(said, tuple(ids), (-1.0,) * len(ids), reason, 0)


def template_of(source: str) -> tuple[HFTemplate, Any]:
    tokenizer = build_byte_tokenizer()
    tokenizer.chat_template = source
    return HFTemplate(tokenizer), tokenizer


@pytest.mark.parametrize(
    ("source", "thinking", "end"),
    [
        (QWEN, None, "assistant\n"),
        (QWEN, "off", "assistant\n<think>\n\n</think>\n\n"),
        (QWEN, "on", "assistant\n"),
        (OPENS, "off", "assistant\n</think>"),
        (OPENS, "on", "assistant\n<think>"),
        (ALWAYS, "on", "assistant\n<think>\n"),
        (NEVER, "off", "assistant\n"),
    ],
)
async def test_the_switch_is_seen_in_the_prompt(source: str, thinking: Any, end: str) -> None:
    template, tokenizer = template_of(source)
    sampler = Says(tokenizer, "3<|im_end|>")
    await TokenChat(sampler, template, [USER]).reply(SamplingParams(50, thinking=thinking), (0,))
    assert sampler.rows[0].endswith(end)


@pytest.mark.parametrize(
    ("source", "thinking", "told"),
    [(ALWAYS, "off", "always opens"), (NEVER, "on", "no thinking"), (NEVER, 20, "no thinking")],
)
def test_what_a_template_cannot_do_is_refused_by_the_key(source: str, thinking: Any, told: str) -> None:
    class Speaks:
        def check_thinking(self, thinking: Any) -> None:
            template_of(source)[0].switched(thinking)

    with pytest.raises(ConfigError, match=f"play.thinking: .*{told}"):
        check_thinking(Speaks(), {"play.thinking": thinking})


@pytest.mark.parametrize("source", [QWEN, OPENS, ALWAYS])
async def test_a_thought_over_its_budget_is_closed_and_the_closing_is_not_trained(source: str) -> None:
    template, tokenizer = template_of(source)
    sampler = Says(tokenizer, "\\boxed{1} " * 50, "\\boxed{2}<|im_end|>")
    chat = TokenChat(sampler, template, [USER])
    completion = await chat.reply(SamplingParams(60, thinking=80), (0,))
    (segment,) = chat.segments
    trained = [token for token, sampled in zip(segment.tokens, segment.loss_mask, strict=True) if sampled]
    assert last_box(completion.text) == last_box("\\boxed{2}")
    assert "think" not in tokenizer.decode(trained)
    assert "</think>" in tokenizer.decode(segment.tokens)
    assert chat.length == len(segment.tokens)
    assert len(completion.tokens) == len(completion.logprobs) <= 60 + 80


async def test_a_thought_within_its_budget_ends_by_itself() -> None:
    template, tokenizer = template_of(QWEN)
    sampler = Says(tokenizer, "three</think> cut", "\n\n\\boxed{3}<|im_end|>")
    chat = TokenChat(sampler, template, [USER])
    completion = await chat.reply(SamplingParams(60, thinking=80), (0,))
    assert completion.text == "<think>\nthree</think>\n\n\\boxed{3}"


async def test_a_box_in_a_thought_that_the_prompt_opened_is_no_answer() -> None:
    template, tokenizer = template_of(ALWAYS)
    chat = TokenChat(Says(tokenizer, "perhaps \\boxed{1}, perhaps"), template, [USER])
    completion = await chat.reply(SamplingParams(60), (0,))
    assert last_box(completion.text) is None


def test_servers_are_told_by_the_templates_variables_and_others_refuse() -> None:
    def body(server: Any, thinking: Any) -> Any:
        settings = EndpointSection(urls=("http://localhost:1",), server=server)
        return request_body(settings, "m", [USER], (), SamplingParams(9, thinking=thinking), 0)

    assert body("vllm", "off")["chat_template_kwargs"] == {"enable_thinking": False, "thinking": False}
    assert "chat_template_kwargs" not in body("vllm", None)
    with pytest.raises(ConfigError, match="budget"):
        body("sglang", 100)
    with pytest.raises(ConfigError, match=r"endpoint\.server"):
        body("openai", "off")
