"""What every ``Policy`` promises. A new engine joins by a factory in ``ENGINES``."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal

import pytest
import pytest_asyncio
from tinker_server import served

from spadework.config import EndpointSection
from spadework.errors import ModelError, PolicyError
from spadework.policies.base import Completion, Policy, SamplingParams
from spadework.policies.chat import TokenChat
from spadework.policies.server.openai import OpenAICompatPolicy
from spadework.policies.server.token_server import TokenPolicy
from spadework.testing.scripted import ScriptedPolicy
from spadework.testing.stand_in import Manners, StandIn

Factory = Callable[[], Any]

USER = [{"role": "user", "content": "Say a number."}]


def scripted() -> Policy:
    return ScriptedPolicy(lambda messages, rng, version: f"{rng.random()} {len(messages)}", run_seed=3)


def local() -> Policy:
    pytest.importorskip("torch")
    from spadework.policies.local.policy import LocalOptions, load_local

    options = LocalOptions(slots=4, parked=4, threads=1, dtype="float32", deterministic=True, max_length=256)
    return load_local("tiny-random", run_seed=3, options=options)[0]


@asynccontextmanager
async def endpoint(ids: bool) -> AsyncIterator[Policy]:
    """The scripted policy again, behind HTTP; with vLLM's token ids, or as text alone."""
    async with StandIn(scripted(), Manners(ids=ids)) as server:
        settings = EndpointSection(urls=(server.url,), server="vllm" if ids else "openai")
        yield OpenAICompatPolicy(settings, "scripted", run_seed=3)


def tinker() -> Policy:
    url, model = served()
    from spadework.policies.tinker.policy import TinkerOptions
    from spadework.policies.tinker.trainer import load_tinker

    options = TinkerOptions(url, lora_rank=4, deadline_seconds=1_800, max_length=256)
    return load_tinker(model, run_seed=3, options=options)[0]


def served_by(kind: Literal["vllm", "sglang"]) -> Policy:
    pytest.importorskip("torch")
    from serving import serve

    from spadework.policies.local.options import LocalOptions
    from spadework.policies.server.served import load_served

    server, settings = serve(kind)
    options = LocalOptions(dtype="float32", threads=1, max_length=256)
    return load_served("tiny-random", settings, server.folder, run_seed=3, options=options)[0]


TINKER = pytest.param("tinker", marks=pytest.mark.slow)
ENGINES: dict[str, Callable[[], Policy]] = {
    "scripted": scripted,
    "local": local,
    "vllm": lambda: served_by("vllm"),
    "sglang": lambda: served_by("sglang"),
    "tinker": tinker,
}
ENDPOINTS = {"endpoint": True, "endpoint-text": False}
MODELS = ["local", "vllm", "sglang", TINKER]
"""Engines that run the tiny model."""
DETERMINISTIC = ["scripted", "local"]


@pytest_asyncio.fixture(params=["scripted", *MODELS, *ENDPOINTS])
async def policy(request: pytest.FixtureRequest) -> AsyncIterator[Policy]:
    if request.param in ENDPOINTS:
        async with endpoint(ENDPOINTS[request.param]) as policy:
            yield policy
            await policy.close()
        return
    policy = ENGINES[request.param]()
    yield policy
    await policy.close()


def gives_ids(policy: Policy) -> bool:
    """Whether the engine gives token ids at all."""
    return not (isinstance(policy, OpenAICompatPolicy) and policy.settings.server == "openai")


def params(max_tokens: int = 12, **others: Any) -> SamplingParams:
    return SamplingParams(max_tokens, **{"temperature": 1.0, **others})


async def test_it_is_a_policy(policy: Policy) -> None:
    assert isinstance(policy, Policy)
    assert policy.version == 0
    assert policy.count_tokens("seven words are counted in this text") >= 7


async def test_ids_text_and_logprobs_agree(policy: Policy) -> None:
    if not gives_ids(policy):
        pytest.skip("text only")
    chat = policy.chat(USER)
    estimate = chat.length
    reply = await chat.reply(params(), (0, 1))
    (segment,) = chat.segments
    before = len(segment.tokens) - len(reply.tokens)
    assert estimate == before or isinstance(policy, OpenAICompatPolicy)
    assert segment.tokens[before:] == reply.tokens
    assert segment.logprobs[before:] == reply.logprobs
    assert all(logprob <= 0 for logprob in reply.logprobs)
    assert [i for i, sampled in enumerate(segment.loss_mask) if sampled] == list(range(before, len(segment.tokens)))
    assert segment.policy_version == reply.policy_version == policy.version
    assert not any(segment.logprobs[:before])


async def test_a_conversation_only_grows(policy: Policy) -> None:
    if not gives_ids(policy):
        pytest.skip("text only")
    chat = policy.chat(USER)
    await chat.reply(params(), (0, 1))
    first = chat.segments[0].tokens
    chat.observe({"role": "user", "content": "Again."})
    assert chat.length > len(first)
    reply = await chat.reply(params(), (0, 2))
    (segment,) = chat.segments
    assert segment.tokens[: len(first)] == first
    assert segment.tokens[-len(reply.tokens) :] == reply.tokens
    assert chat.length == len(segment.tokens)


async def test_a_reply_needs_someone_to_speak_first(policy: Policy) -> None:
    chat = policy.chat(USER)
    await chat.reply(params(), (0, 1))
    with pytest.raises(ValueError, match="observe"):
        await chat.reply(params(), (0, 2))


async def test_prefill_is_prompt(policy: Policy) -> None:
    plain, begun = policy.chat(USER), policy.chat(USER, prefill="class ")
    assert begun.length > plain.length
    reply = await begun.reply(params(), (0, 1))
    assert not reply.text.startswith("class ")
    assert not gives_ids(policy) or begun.segments[0].sampled == len(reply.tokens)


async def test_the_token_limit_is_a_stop_reason(policy: Policy) -> None:
    reply = await policy.chat(USER).reply(params(3), (0, 1))
    assert len(reply.tokens) <= 3
    assert not gives_ids(policy) or reply.finish_reason == ("length" if len(reply.tokens) == 3 else "stop")
    whole = await policy.chat(USER).reply(params(200), (0, 1))
    assert len(whole.text) > len(reply.text) or reply.finish_reason == "stop"


async def test_the_same_key_gives_the_same_reply_and_another_key_another(policy: Policy) -> None:
    if isinstance(policy, TokenPolicy):
        pytest.skip("a server that batches as it likes is sent no seed")
    one, same, other = [await policy.chat(USER).reply(params(), key) for key in ((1, 2), (1, 2), (1, 3))]
    assert (one.tokens, one.text) == (same.tokens, same.text)
    assert one.logprobs == pytest.approx(same.logprobs, abs=1e-4)
    assert (one.tokens, one.text) != (other.tokens, other.text)


async def test_a_conversation_without_ids_is_text(policy: Policy) -> None:
    if gives_ids(policy):
        pytest.skip("gives ids")
    chat = policy.chat(USER)
    reply = await chat.reply(params(), (0, 1))
    assert reply.text and not reply.tokens and chat.segments == ()
    before = chat.length
    chat.observe({"role": "user", "content": "Again."})
    assert chat.length > before > 0
    assert (await chat.reply(params(40), (0, 2))).text.endswith(" 3")  # the script counts the messages


@pytest.mark.parametrize("name", MODELS)
async def test_logprobs_are_those_of_a_plain_forward_pass(name: str) -> None:
    policy = ENGINES[name]()
    from reference import logprobs_of

    from spadework.policies.local.models import load_model

    model = load_model("tiny-random", seed=3).model
    chat = policy.chat(USER)
    for turn in range(2):
        await chat.reply(params(10), (0, turn))
        chat.observe({"role": "user", "content": "Again."})
    (segment,) = chat.segments
    expected = logprobs_of(model, segment.tokens).tolist()
    found = [(a, b) for a, b, m in zip(segment.logprobs[1:], expected, segment.loss_mask[1:], strict=True) if m]
    assert [a for a, _ in found] == pytest.approx([b for _, b in found], abs=1e-3)
    await policy.close()


@pytest.mark.parametrize("name", MODELS)
async def test_a_stop_string_ends_a_reply_and_stays_in_it(name: str) -> None:
    policy = ENGINES[name]()
    # The likeliest tokens alone: a server is sent no seed.
    whole = await policy.chat(USER).reply(params(20, top_k=1), (5, 1))
    stop = whole.text[6:8]
    reply = await policy.chat(USER).reply(params(20, stop=(stop,), top_k=1), (5, 1))
    assert reply.text == whole.text[: whole.text.index(stop) + len(stop)]
    assert reply.tokens == whole.tokens[: len(reply.tokens)] and len(reply.logprobs) == len(reply.tokens)
    assert reply.finish_reason == "stop"
    await policy.close()


async def test_one_failure_among_many(policy: Policy) -> None:
    if isinstance(policy, ScriptedPolicy | OpenAICompatPolicy):
        pytest.skip("this engine has no row limit to run into")
    long = policy.chat([{"role": "user", "content": "x" * 400}])
    chats = [policy.chat(USER) for _ in range(6)]
    results = await asyncio.gather(
        *(chat.reply(params(), (2, i)) for i, chat in enumerate([long, *chats])), return_exceptions=True
    )
    assert isinstance(results[0], PolicyError)
    assert results[0].fault.kind == ("model" if isinstance(results[0], ModelError) else "endpoint")
    assert isinstance(results[0], ModelError) == (type(policy).__name__ == "LocalPolicy")
    assert all(isinstance(result, Completion) for result in results[1:])
    assert long.segments == ()


async def test_cancelling_one_leaves_the_others_alone(policy: Policy) -> None:
    chats = [policy.chat(USER) for _ in range(8)]
    tasks = [asyncio.create_task(chat.reply(params(30), (3, i))) for i, chat in enumerate(chats)]
    await asyncio.sleep(0.02)
    for task in tasks[::2]:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, Completion) for result in results[1::2])
    again = await policy.chat(USER).reply(params(), (3, 99))
    assert again.text


@pytest.mark.parametrize("engine", DETERMINISTIC)
async def test_determinism_under_random_delays(engine: str) -> None:
    """With everyone attending, two runs agree bit for bit whoever is quick."""

    async def play(policy: Policy, index: int, delays: random.Random) -> list[TokenChat]:
        with policy.attend():
            chat = policy.chat([{"role": "user", "content": f"Game {index % 2}: " + "go " * (index % 3)}])
            for turn in range(1 + index % 3):
                await asyncio.sleep(delays.random() * 0.004)
                await chat.reply(params(2 + 3 * (index % 4)), (index, turn))
                chat.observe({"role": "user", "content": "Next."})
            return [chat]

    async def run(seed: int) -> list[Any]:
        policy = ENGINES[engine]()
        chats = await asyncio.gather(*(play(policy, index, random.Random(seed + index)) for index in range(10)))
        await policy.close()
        return [chat.segments for chat in itertools.chain(*chats)]

    first, *others = [await run(seed) for seed in (0, 1000, 2000)]
    assert all(other == first for other in others)
