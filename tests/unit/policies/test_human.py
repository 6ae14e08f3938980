"""A person as a policy."""

import pytest

from spadework.errors import PolicyError
from spadework.policies.base import Message, Policy, SamplingParams
from spadework.policies.human import HumanPolicy


async def test_the_last_message_is_shown_and_the_line_is_the_reply():
    shown = []

    def ask(text):
        shown.append(text)
        return f"reply {len(shown)}"

    policy = HumanPolicy(ask)
    assert isinstance(policy, Policy)
    chat = policy.chat([Message(role="system", content="rules"), Message(role="user", content="first")])
    assert (await chat.reply(SamplingParams(5), (0,))).text == "reply 1"
    chat.observe(Message(role="user", content="second"))
    assert (await chat.reply(SamplingParams(5), (1,))).finish_reason == "stop"
    assert shown == ["first", "second"]


async def test_the_end_of_input_is_a_fault():
    def ask(text):
        raise EOFError

    with pytest.raises(PolicyError):
        await HumanPolicy(ask).chat([Message(role="user", content="x")]).reply(SamplingParams(5), (0,))


async def test_tools_results_and_the_next_instruction_are_all_shown() -> None:
    shown = []
    chat = HumanPolicy(lambda text: shown.append(text) or "x").chat(
        [{"role": "user", "content": "Do it."}], tools=[{"function": {"name": "act"}}]
    )
    await chat.reply(SamplingParams(9), (0,))
    chat.observe({"role": "tool", "content": "done"})
    chat.observe({"role": "user", "content": "Next."})
    await chat.reply(SamplingParams(9), (1,))
    assert shown == ['{"name": "act"}\nDo it.', "done\nNext."]
