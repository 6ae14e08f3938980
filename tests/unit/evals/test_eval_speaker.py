"""A policy in a harness that hands over whole histories, in threads."""

from __future__ import annotations

import asyncio
import threading

import pytest

from spadework.envs.tool_calls import Call, render_call
from spadework.errors import PolicyError
from spadework.evals.speaker import Speaker, in_thread, read
from spadework.policies.base import Message, SamplingParams
from spadework.policies.scripted import ScriptedPolicy

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
    speaker = Speaker(policy, PARAMS, (0,))
    history = [HELLO]
    for heard in (1, 3, 5):
        said = await speaker.reply(history)
        assert said.text == f"heard {heard}"
        history += [Message(role="assistant", content=said.raw), Message(role="tool", content="2")]
    assert policy.opened == 1 and speaker.turns == 3 and speaker.tokens == 3 * len("heard 1_")


async def test_new_tools_or_a_rewritten_history_open_another_with_all_that_was_said() -> None:
    policy = Counting()
    speaker = Speaker(policy, PARAMS, (0,))
    said = await speaker.reply([HELLO])
    told = [HELLO, Message(role="assistant", content=said.raw), Message(role="user", content="More.")]
    assert (await speaker.reply(told, TOOLS)).text == "heard 3" and policy.opened == 2
    rewritten = [HELLO, Message(role="assistant", content="else"), Message(role="user", content="More.")]
    assert (await speaker.reply(rewritten, TOOLS)).text == "heard 3" and policy.opened == 3
    assert (await speaker.reply(rewritten, TOOLS)).text == "heard 3" and policy.opened == 4


async def test_a_thread_asks_and_an_error_reaches_both_sides() -> None:
    speaker = Speaker(Counting(), PARAMS, (0,))
    said = await in_thread(lambda: (threading.current_thread().name, speaker.reply_in_thread([HELLO]).text))
    assert said == ("harness", "heard 1")

    class Broken(ScriptedPolicy):
        async def sample(self, *_):
            raise PolicyError("down", "no answer")

    broken = Speaker(Broken(lambda *_: ""), PARAMS, (0,))
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
    assert read(raw, TOOLS) == type(read(raw, TOOLS))(raw, "I add.", (Call("add", {"a": 2}),))


def test_a_call_in_json_keeps_the_types_it_was_given() -> None:
    assert read(render_call("add", {"a": "2"}), TOOLS).calls == (Call("add", {"a": "2"}),)
    assert read(render_call("unknown", {"a": "2"}, "xml"), TOOLS).calls == (Call("unknown", {"a": "2"}),)
    assert read("<tool_call>{no json}</tool_call>", TOOLS).calls == ()
