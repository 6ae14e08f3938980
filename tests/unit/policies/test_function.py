"""A function as a policy: plain or async, with tools or without, in a thread or on the loop."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from spadework.errors import ConfigError
from spadework.policies.base import Policy, SamplingParams
from spadework.policies.function import FunctionPolicy

OPENING = [{"role": "user", "content": "hello"}]
TOOLS = [{"type": "function", "function": {"name": "count"}}]


async def ask(agent, **more):
    policy = FunctionPolicy(agent)
    assert isinstance(policy, Policy)
    try:
        return (await policy.chat(OPENING, **more).reply(SamplingParams(10), (0,))).text
    finally:
        await policy.close()


class Caller:
    async def __call__(self, messages):
        return f"{len(messages)} messages"


async def answer(messages):
    return "async"


@pytest.mark.parametrize(
    ("agent", "reply"),
    [
        (lambda messages: messages[0]["content"], "hello"),
        (answer, "async"),
        (lambda messages: answer(messages), "async"),
        (Caller(), "1 messages"),
        (lambda messages, tools: tools[0]["function"]["name"], "count"),
    ],
)
async def test_every_form_of_a_function_is_asked(agent, reply):
    assert await ask(agent, tools=TOOLS) == reply


async def test_the_function_sees_the_whole_conversation_and_cannot_change_it():
    seen = []

    def agent(messages):
        seen.append([message["content"] for message in messages])
        messages.clear()
        return f"reply {len(seen)}"

    policy = FunctionPolicy(agent)
    chat = policy.chat(OPENING)
    await chat.reply(SamplingParams(10), (0,))
    chat.observe({"role": "user", "content": "more"})
    await chat.reply(SamplingParams(10), (1,))
    assert seen == [["hello"], ["hello", "reply 1", "more"]]
    await policy.close()


async def test_a_plain_function_is_called_in_one_thread_and_one_call_at_a_time():
    threads, inside = set(), []

    def agent(messages):
        threads.add(threading.current_thread().name)
        inside.append(1)
        assert len(inside) == 1
        time.sleep(0.02)
        inside.pop()
        return "x"

    policy = FunctionPolicy(agent)
    await asyncio.gather(*(policy.chat(OPENING).reply(SamplingParams(10), (0,)) for _ in range(4)))
    assert len(threads) == 1
    assert threads != {threading.current_thread().name}
    await policy.close()


async def test_async_calls_run_at_once():
    inside = []

    async def agent(messages):
        inside.append(1)
        while len(inside) < 4:
            await asyncio.sleep(0.001)
        return "x"

    policy = FunctionPolicy(agent)
    replies = (policy.chat(OPENING).reply(SamplingParams(10), (0,)) for _ in range(4))
    await asyncio.wait_for(asyncio.gather(*replies), 10)
    await policy.close()


async def test_what_is_no_text_is_refused_by_the_functions_name():
    def silent(messages):
        return None

    with pytest.raises(ConfigError, match="the agent silent returned NoneType, not str"):
        await ask(silent)
