from __future__ import annotations

import asyncio
import email.utils
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from spadework.config import EndpointSection
from spadework.errors import ConfigError, PolicyError
from spadework.policies.base import Message, SamplingParams
from spadework.policies.server import endpoints
from spadework.policies.server.budget import Budget
from spadework.policies.server.openai import OpenAICompatPolicy
from spadework.policies.server.openai_wire import Unusable, read_answer, request_body, user_side
from spadework.testing.scripted import ScriptedPolicy
from spadework.testing.stand_in import Manners, StandIn

USER: list[Message] = [{"role": "user", "content": "Say a number."}]
PARAMS = SamplingParams(40)
TOOL = {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": {"type": "object"}}}
CALL = '<tool_call>{"name": "look", "arguments": {"where": "hall"}}</tool_call>'


def echo(messages: Any, rng: random.Random, version: int) -> str:
    return f"{len(messages)} {rng.random()}"


@asynccontextmanager
async def served(
    manners: Manners, script: Any = echo, **settings: Any
) -> AsyncIterator[tuple[OpenAICompatPolicy, StandIn]]:
    async with StandIn(ScriptedPolicy(script), manners) as server:
        policy = OpenAICompatPolicy(EndpointSection(urls=(server.url,), **settings), "model", run_seed=1)
        yield policy, server
        await policy.close()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "FIRST_PAUSE", 0.002)
    monkeypatch.setattr(endpoints, "LONGEST_PAUSE", 0.05)


@pytest.mark.parametrize(
    ("trouble", "code"),
    [
        ("429", "OVERLOADED"),
        ("500", "SERVER"),
        ("drop", "CONNECTION"),
        ("half_json", "NOT_JSON"),
        ("slow", "TIMEOUT"),
        ("wrong_ids", "UNUSABLE"),
        ("no_choice", "UNUSABLE"),
    ],
)
async def test_every_trouble_is_a_fault_of_its_own_and_counted(trouble: Any, code: str) -> None:
    settings = {"retries": 2, "timeout_seconds": 0.3 if trouble == "slow" else 30.0, "server": "vllm"}
    async with served(Manners(troubles={trouble: 1.0}), **settings) as (policy, server):
        chat = policy.chat(USER)
        with pytest.raises(PolicyError) as caught:
            await chat.reply(PARAMS, (0,))
        assert (caught.value.fault.kind, caught.value.fault.code) == ("endpoint", code)
        assert server.met[trouble] == 3 or trouble == "slow"  # a slow machine gives up before the server has read it
        counts = policy.take_metrics()
        assert counts[f"endpoint/retried/{code}"] == 2
        assert counts[f"endpoint/faults/{code}"] == 1
        assert policy.take_metrics().get("endpoint/requests", 0) == 0
        if trouble != "slow":
            server.manners = Manners()
            assert (await chat.reply(PARAMS, (0,))).text.startswith("1 ")  # the conversation is as it was


async def test_a_retry_gives_what_the_first_attempt_would_have_given() -> None:
    async with served(Manners()) as (policy, _):
        calm = [(await policy.chat(USER).reply(PARAMS, (i,))).text for i in range(40)]
    troubles = {"429": 0.1, "500": 0.1, "drop": 0.1, "half_json": 0.1, "wrong_ids": 0.1}
    async with served(Manners(troubles=troubles), retries=30, server="vllm") as (policy, server):
        rough = await asyncio.gather(*(policy.chat(USER).reply(PARAMS, (i,)) for i in range(40)))
        assert [reply.text for reply in rough] == calm
        assert sum(server.met.values()) > 5


async def test_a_refusal_is_not_repeated_and_never_shows_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "sk-secret\n")  # as read from a file
    async with served(Manners(), key_env="A_KEY") as (policy, server):

        async def refuse(writer: Any, *request: Any) -> bool:
            return await server._send(writer, 401, '{"error": {"message": "wrong key sk-secret"}}')

        monkeypatch.setattr(server, "_answer", refuse)
        with pytest.raises(PolicyError, match=r"401: wrong key \*\*\*") as caught:
            await policy.chat(USER).reply(PARAMS, (0,))
        assert caught.value.fault.code == "REFUSED"
        assert len(server.requests) == 1
        assert server.headers[0]["authorization"] == "Bearer sk-secret"


async def test_it_waits_as_long_as_it_is_asked_and_no_longer_than_its_deadline() -> None:
    date = email.utils.formatdate(time.time() + 1.9, usegmt=True)
    assert 0.5 < endpoints._retry_after(date) < 2
    assert endpoints._retry_after("soon") == 0
    async with served(Manners(troubles={"429": 1.0}, retry_after="0.3"), retries=1) as (policy, _):
        began = time.monotonic()
        with pytest.raises(PolicyError, match="429"):
            await policy.chat(USER).reply(PARAMS, (0,))
        assert time.monotonic() - began > 0.29
    manners = Manners(troubles={"429": 1.0}, retry_after="3600")
    async with served(manners, deadline_seconds=60) as (policy, server):
        with pytest.raises(PolicyError, match="429"):
            await policy.chat(USER).reply(PARAMS, (0,))
        assert len(server.requests) == 1
    slow = Manners(latency=lambda rng: 30.0)
    async with served(slow, deadline_seconds=0.2) as (policy, _):
        with pytest.raises(PolicyError) as caught:
            await policy.chat(USER).reply(PARAMS, (0,))
        assert caught.value.fault.code == "DEADLINE"


async def test_waiting_for_room_is_not_the_endpoints_time() -> None:
    manners = Manners(latency=lambda rng: 0.2)
    async with served(manners, concurrency=1, deadline_seconds=2.0) as (policy, server):
        await asyncio.gather(*(policy.chat(USER).reply(PARAMS, (i,)) for i in range(13)))
        assert (server.most, server.served) == (1, 13)


async def test_the_budget_gives_way_to_a_server_that_pushes_back() -> None:
    manners = Manners(latency=lambda rng: 0.01, capacity=4)
    async with served(manners, concurrency=32, retries=100) as (policy, server):
        await asyncio.gather(*(policy.chat(USER).reply(PARAMS, (i,)) for i in range(60)))
        (host,) = policy.endpoints._hosts
        assert server.served == 60 and server.met["full"]
        assert host.budget.limit < 32 and host.budget.busy == 0


async def test_a_burst_of_refusals_is_one_sign_and_answers_win_the_room_back() -> None:
    budget = Budget(16, least=2)

    async def use(**sign: bool) -> None:
        async with budget.slot() as slot:
            await asyncio.sleep(0)
            for name, value in sign.items():
                setattr(slot, name, value)

    await asyncio.gather(*(use(overloaded=True) for _ in range(16)))
    assert budget.limit == 8
    for _ in range(5):
        await use(overloaded=True)
    assert budget.limit == 2
    await asyncio.gather(*(use(answered=True) for _ in range(4)))
    assert 3 < budget.limit < 4
    for _ in range(200):
        await use(answered=True)
    assert budget.limit == 16


async def test_cancelling_who_waits_keeps_the_room() -> None:
    budget = Budget(1)
    order = []

    async def use(name: int) -> None:
        async with budget.slot():
            order.append(name)
            await asyncio.sleep(0.01)

    tasks = [asyncio.create_task(use(name)) for name in range(5)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert (order, budget.busy) == ([0, 2, 3, 4], 0)


async def test_a_conversation_stays_where_it_began_and_moves_when_that_is_gone() -> None:
    async with StandIn(ScriptedPolicy(echo)) as one, StandIn(ScriptedPolicy(echo)) as two:
        settings = EndpointSection(urls=(one.url, two.url), weights=(3.0, 1.0), retries=2)
        policy = OpenAICompatPolicy(settings, "model")
        chats = [policy.chat([{"role": "user", "content": f"Game {i}"}]) for i in range(60)]
        for chat in chats:
            await chat.reply(PARAMS, (0,))
        shares = one.served, two.served
        assert len({headers["x-session-id"] for headers in (*one.headers, *two.headers)}) == 60
        assert sum(shares) == 60 and 32 < one.served < 57
        for chat in chats:
            chat.observe({"role": "user", "content": "on"})
            await chat.reply(PARAMS, (1,))
        assert (one.served, two.served) == (2 * shares[0], 2 * shares[1])
        await one.__aexit__()
        policy.settings = policy.endpoints.settings = settings.model_copy(update={"retries": 1})
        for chat in chats:
            chat.observe({"role": "user", "content": "on"})
            assert (await chat.reply(PARAMS, (2,))).text.startswith("5 ")
        assert two.served == 2 * shares[1] + 60
        await policy.close()


async def test_settings_reach_the_server() -> None:
    params = SamplingParams(7, temperature=0.3, top_p=0.9, top_k=20, stop=("END",))
    extra = {"chat_template_kwargs": {"enable_thinking": False}}
    async with served(Manners(), extra=extra, without=("seed",), limit_field="max_completion_tokens") as (
        policy,
        server,
    ):
        await policy.chat(USER, tools=[TOOL]).reply(params, (0,))
        (body,) = server.requests
        told = {key: body[key] for key in ("temperature", "top_p", "top_k", "stop", "stream", "model", "tools")}
        assert told == {
            "temperature": 0.3, "top_p": 0.9, "top_k": 20, "stop": ["END"], "stream": False, "model": "model", "tools": [TOOL],
        }  # fmt: skip
        assert body["max_completion_tokens"] == 7 and body["chat_template_kwargs"] == {"enable_thinking": False}
        assert not {"max_tokens", "seed"} & set(body)


def test_a_hosted_endpoint_gets_no_field_that_it_does_not_know() -> None:
    body = request_body(EndpointSection(), "m", USER, (), SamplingParams(5), 1)
    assert set(body) == {"model", "messages", "max_tokens", "temperature", "top_p", "seed", "stream"}


@pytest.mark.parametrize("parses", [True, False])
async def test_tool_calls_keep_one_form(parses: bool) -> None:
    """Whether the server parses calls or leaves them in the text, the agent's reply reads the same."""

    def script(messages: Any, rng: random.Random, version: int) -> str:
        return CALL if len(messages) == 1 else messages[-1]["content"]

    async with served(Manners(parses_calls=parses), script) as (policy, server):
        chat = policy.chat(USER, tools=[TOOL])
        assert (await chat.reply(SamplingParams(200), (0,))).text == CALL
        chat.observe({"role": "tool", "content": "dark"})
        reply = await chat.reply(SamplingParams(200), (1,))
        assert reply.text == "dark" if parses else reply.text == "<tool_response>\ndark\n</tool_response>"
        last = server.requests[-1]["messages"]
        assert [one["role"] for one in last] == ["user", "assistant", "tool" if parses else "user"]
        assert not parses or last[2]["tool_call_id"] == last[1]["tool_calls"][0]["id"]


async def test_tools_may_stand_in_the_text() -> None:
    async with served(Manners(), tools="text") as (policy, server):
        await policy.chat(USER, tools=[TOOL]).reply(PARAMS, (0,))
        assert "tools" not in server.requests[0]
        assert '"name": "look"' in server.requests[0]["messages"][0]["content"]


def test_every_call_gets_an_answer() -> None:
    last = {"role": "assistant", "tool_calls": [{"id": "a"}, {"id": "b"}]}
    said = user_side([{"role": "tool", "content": "both"}, {"role": "user", "content": "next"}], last)
    assert [(one["role"], one.get("tool_call_id"), one["content"]) for one in said] == [
        ("tool", "a", "both"),
        ("tool", "b", "(with the first call's result)"),
        ("user", None, "next"),
    ]
    assert [one["role"] for one in user_side([{"role": "user", "content": "next"}], last)] == ["tool", "tool", "user"]


def answer(**choice: Any) -> dict[str, Any]:
    return {"choices": [{"finish_reason": "stop", "message": {"content": "x"}, **choice}]}


def test_answers_that_contradict_themselves_are_unusable() -> None:
    whole = {"token_ids": [1, 2], "logprobs": {"content": [{"logprob": -1}, {"logprob": 0.00001}]}}
    assert read_answer(answer(**whole), PARAMS).logprobs == (-1.0, 0.0)
    assert read_answer(answer(meta_info={"output_token_logprobs": [[-1.5, 7, None]]}), PARAMS).tokens == (7,)
    assert read_answer(answer(message={"content": None, "reasoning": "hm"}), PARAMS).text == ""
    assert read_answer(answer(token_ids=[1], logprobs=[-1.0]), PARAMS).tokens == ()
    deep = {"id": "a", "function": {"name": "look", "arguments": "[" * 50_000}}
    assert "[[[" in read_answer(answer(message={"content": "", "tool_calls": [deep]}), PARAMS).text
    broken = [
        {},
        {"choices": [1]},
        answer(message={"content": None}),
        answer(message=None),
        answer(finish_reason="content_filter"),
        answer(**{**whole, "token_ids": [1]}),
        answer(**{**whole, "token_ids": [1, -2]}),
        answer(token_ids=[1], logprobs={"content": [{"logprob": float("nan")}]}),
        answer(meta_info={"output_token_logprobs": [3]}),
        answer(token_ids=7, logprobs={"content": [{"logprob": -1}]}),
        answer(message={"content": "x", "tool_calls": [{"id": 3}]}),
        {**answer(**whole), "usage": {"completion_tokens": 3}},
    ]
    for data in broken:
        with pytest.raises(Unusable):
            read_answer(data, PARAMS)


def test_a_stop_string_stays_in_the_text() -> None:
    params = SamplingParams(5, stop=("END",))
    assert read_answer(answer(stop_reason="END"), params).text == "xEND"
    assert read_answer(answer(matched_stop="END", message={"content": "xEND"}), params).text == "xEND"
    assert read_answer(answer(matched_stop=2), params).text == "x"


async def test_cost_and_tokens_are_counted() -> None:
    async with served(Manners(), input_price=2.0, output_price=8.0) as (policy, _):
        reply = await policy.chat(USER).reply(PARAMS, (0,))
        counts = policy.take_metrics()
        sampled = len(reply.text) + 1
        assert (counts["endpoint/requests"], counts["endpoint/tokens"]) == (1, sampled)
        expected = (2.0 * counts["endpoint/prompt_tokens"] + 8.0 * sampled) / 1e6
        assert counts["endpoint/cost"] == pytest.approx(expected)


def test_errors_name_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with pytest.raises(ConfigError, match=r"endpoint\.urls"):
        OpenAICompatPolicy(EndpointSection(), "model")
    with pytest.raises(ConfigError, match="NO_SUCH_KEY"):
        OpenAICompatPolicy(EndpointSection(urls=("http://x",), key_env="NO_SUCH_KEY"), "model")
    for key in ("sk-one\nsk-two", "sk-\xe9"):
        monkeypatch.setenv("ODD_KEY", key)
        with pytest.raises(ConfigError, match="ODD_KEY") as caught:
            OpenAICompatPolicy(EndpointSection(urls=("http://x",), key_env="ODD_KEY"), "model")
        assert "sk-" not in str(caught.value)


async def test_ids_begin_a_new_segment_where_the_server_renders_the_history_anew() -> None:
    async with served(Manners(), server="vllm") as (policy, server):
        chat = policy.chat(USER)
        await chat.reply(PARAMS, (0,))
        chat.observe({"role": "user", "content": "on"})
        await chat.reply(PARAMS, (1,))
        assert len(chat.segments) == 1
        chat.observe({"role": "user", "content": "on"})
        render = server._prompt
        server._prompt = lambda body: render({**body, "messages": body["messages"][1:]})  # type: ignore[method-assign]
        await chat.reply(PARAMS, (2,))
        assert [segment.sampled > 0 for segment in chat.segments] == [True, True]
