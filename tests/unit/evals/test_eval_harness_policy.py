"""A policy in a harness that hands over whole histories, in threads."""

from __future__ import annotations

import asyncio
import threading

import pytest

from spadework.config import EndpointSection
from spadework.envs.tool_calls import Call, render_call
from spadework.errors import PolicyError
from spadework.evals.harness_policy import HarnessPolicy, in_thread, read_reply
from spadework.policies.base import Message, SamplingParams
from spadework.policies.server.openai import OpenAICompatPolicy
from spadework.testing.scripted import ScriptedPolicy
from spadework.testing.stand_in import Manners, StandIn

PARAMS = SamplingParams(max_tokens=500)
TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {"properties": {"a": {"type": "integer"}}}}}]
HELLO = Message(role="user", content="Hello.")


class Counting(ScriptedPolicy):
    """Counts conversations and says how many messages it has seen."""

    def __init__(self) -> None:
        super().__init__(lambda messages, *_: f"heard {len(messages)}")
        self.opened = 0

    def chat(self, messages, *, tools=(), prefill=""):
        self.opened += 1
        return super().chat(messages, tools=tools, prefill=prefill)


async def test_a_history_that_grows_stays_one_conversation() -> None:
    policy = Counting()
    speaker = HarnessPolicy(policy, PARAMS, (0,))
    history = [HELLO]
    for heard in (1, 3, 5):
        said = await speaker.reply(history)
        assert said.text == f"heard {heard}"
        history += [Message(role="assistant", content=said.raw), Message(role="tool", content="2")]
    assert policy.opened == 1 and speaker.turns == 3 and speaker.tokens == 3 * len("heard 1_")


async def test_new_tools_or_a_rewritten_history_open_another_with_all_that_was_said() -> None:
    policy = Counting()
    speaker = HarnessPolicy(policy, PARAMS, (0,))
    said = await speaker.reply([HELLO])
    told = [HELLO, Message(role="assistant", content=said.raw), Message(role="user", content="More.")]
    assert (await speaker.reply(told, TOOLS)).text == "heard 3" and policy.opened == 2
    rewritten = [HELLO, Message(role="assistant", content="else"), Message(role="user", content="More.")]
    assert (await speaker.reply(rewritten, TOOLS)).text == "heard 3" and policy.opened == 3
    assert (await speaker.reply(rewritten, TOOLS)).text == "heard 3" and policy.opened == 4


async def test_a_thread_asks_and_an_error_reaches_both_sides() -> None:
    speaker = HarnessPolicy(Counting(), PARAMS, (0,))
    said = await in_thread(lambda: (threading.current_thread().name, speaker.reply_in_thread([HELLO]).text))
    assert said == ("harness", "heard 1")

    class Broken(ScriptedPolicy):
        async def sample(self, *_):
            raise PolicyError("down", "no answer")

    broken = HarnessPolicy(Broken(lambda *_: ""), PARAMS, (0,))
    with pytest.raises(PolicyError, match="no answer"):
        await in_thread(lambda: broken.reply_in_thread([HELLO]))


async def test_a_cancelled_episode_does_not_hold_up_the_loop() -> None:
    release = threading.Event()
    task = asyncio.create_task(in_thread(release.wait))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    release.set()


@pytest.mark.parametrize("form", ["json", "xml"])
def test_calls_are_read_in_both_forms_and_left_out_of_the_text(form: str) -> None:
    raw = f"<think>add?</think>I add.\n{render_call('add', {'a': 2}, form)}"
    assert read_reply(raw, TOOLS) == type(read_reply(raw, TOOLS))(raw, "I add.", (Call("add", {"a": 2}),))


def test_a_call_in_json_keeps_the_types_it_was_given() -> None:
    assert read_reply(render_call("add", {"a": "2"}), TOOLS).calls == (Call("add", {"a": "2"}),)
    assert read_reply(render_call("unknown", {"a": "2"}, "xml"), TOOLS).calls == (Call("unknown", {"a": "2"}),)
    assert read_reply("<tool_call>{no json}</tool_call>", TOOLS).calls == ()


@pytest.mark.parametrize("native", [True, False])
async def test_an_endpoint_gets_each_result_beside_its_call(native: bool) -> None:
    calls = "\n".join(render_call("add", {"a": number}) for number in (1, 2))
    script = ScriptedPolicy(
        lambda messages, *_: "Three." if messages[-1]["role"] != "user" or len(messages) > 2 else calls
    )
    async with StandIn(script, Manners(parses_calls=native)) as server:
        policy = OpenAICompatPolicy(EndpointSection(urls=(server.url,), server="openai"), "scripted", run_seed=0)
        speaker = HarnessPolicy(policy, PARAMS, (0,))
        said = await speaker.reply([HELLO], TOOLS)
        assert said.calls == (Call("add", {"a": 1}), Call("add", {"a": 2})) and not said.text
        history = [HELLO, Message(role="assistant", content=said.raw)]
        history += [Message(role="tool", content=result) for result in ("one", "two")]
        assert (await speaker.reply(history, TOOLS)).text == "Three."
        sent = server.requests[-1]["messages"]
        await policy.close()
    if native:
        asked = {call["id"]: call["function"]["arguments"] for call in sent[1]["tool_calls"]}
        answered = {asked[message["tool_call_id"]]: message["content"] for message in sent[2:]}
        assert {key.replace(" ", ""): value for key, value in answered.items()} == {'{"a":1}': "one", '{"a":2}': "two"}
    else:
        assert [message["role"] for message in sent] == ["user", "assistant", "user", "user"]


async def test_threads_of_a_deterministic_engine_wait_for_each_other_and_say_what_each_says_alone() -> None:
    pytest.importorskip("torch")
    from spadework.policies.local.policy import LocalOptions, load_local

    options = LocalOptions(slots=4, parked=4, threads=1, dtype="float32", deterministic=True, max_length=512)
    policy = load_local("tiny-random", run_seed=3, options=options)[0]

    def episode(speaker: HarnessPolicy, turns: int) -> list[str]:
        history, said = [HELLO], []
        for _ in range(turns):
            raw = speaker.reply_in_thread(history).raw
            history += [Message(role="assistant", content=raw), Message(role="user", content="More.")]
            said.append(raw)
        return said

    async def play(place: int) -> list[str]:
        speaker = HarnessPolicy(policy, SamplingParams(max_tokens=6), (place,))
        with policy.attend():
            return await in_thread(lambda: episode(speaker, 1 + place % 3))

    together = await asyncio.wait_for(asyncio.gather(*(play(place) for place in range(5))), 120)
    assert [await play(place) for place in (0, 4)] == [together[0], together[4]] and len({*map(tuple, together)}) > 2
    await policy.close()
