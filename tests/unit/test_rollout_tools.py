"""The episode loop in tool use: who says what, parallel and malformed calls, thinking, tools in the chat."""

from __future__ import annotations

from spadework.domains.games import GAMES
from spadework.domains.tool_use import TOOL_USE
from spadework.envs.sandbox.base import Limits
from spadework.policies.base import Message, SamplingParams
from spadework.resources import shipped
from spadework.rollout import Play, PlaySettings, play_episode
from spadework.selfplay.design.examples import environment_id
from spadework.testing.scripted import ScriptedPolicy
from spadework.types import Environment

SOURCE = (shipped("examples") / "environments" / "tool_use" / "top_up_a_shelf.py").read_text()
COUNT = '<tool_call>{"name": "count", "arguments": {"item": "%s"}}</tool_call>'
SETTINGS = PlaySettings((Message(role="system", content="serve"),), Limits(max_turns=6), SamplingParams(500))


class Watched(ScriptedPolicy):
    """Notes the tools of its chats and the messages of its last request."""

    def __init__(self, *replies):
        self.replies, self.tools, self.seen = replies, (), []
        super().__init__(self._answer)

    def chat(self, messages, *, tools=(), prefill=""):
        self.tools = tools
        return super().chat(messages, tools=tools, prefill=prefill)

    def _answer(self, messages, rng, version):
        self.seen = messages
        turn = sum(message["role"] == "assistant" for message in messages)
        return self.replies[min(turn, len(self.replies) - 1)]


async def episode(sandbox, *replies):
    policy = Watched(*replies)
    environment = Environment(environment_id(SOURCE), SOURCE, "", "s", "tool_use", "d", 0, 0)
    played = await play_episode(policy, sandbox, Play(environment, "unhinted", 0, 5, 0, (0,)), SETTINGS)
    return played, policy


async def test_tools_go_to_the_chat_and_results_come_back_from_the_tool(sandbox):
    played, policy = await episode(sandbox, COUNT % "pens" + COUNT % "cups", "<answer>done</answer>")
    assert [tool["function"]["name"] for tool in policy.tools] == ["count", "order"]
    assert [message["role"] for message in policy.seen[:4]] == ["system", "user", "assistant", "tool"]
    assert policy.seen[3]["content"].count('"count"') == 2, "both calls of one reply were carried out"
    assert played.turns[1].observation == policy.seen[3]["content"]


async def test_what_cannot_be_read_is_told_and_counted(sandbox):
    played, policy = await episode(sandbox, '<tool_call>{"name": count}</tool_call>', "hello?", COUNT % "pens")
    assert [turn.malformed for turn in played.turns[:3]] == [True, True, False]
    assert [turn.action for turn in played.turns[1:2]] == [""]
    assert [turn.reward for turn in played.turns[:3]] == [-0.1, 0.0, 0.0]
    assert "Malformed tool call" in played.turns[1].observation
    assert [message["role"] for message in policy.seen[1:6]] == ["user", "assistant", "tool", "assistant", "user"]


async def test_thinking_never_reaches_the_program(sandbox):
    thought = f"<think>{COUNT % 'pens'} or not</think>{COUNT % 'cups'}"
    played, _ = await episode(sandbox, thought)
    assert played.turns[0].action == COUNT % "cups"
    assert played.turns[0].reply == thought
    assert TOOL_USE.dialogue.action("<think>" + COUNT % "pens") == ""


def test_the_next_instruction_is_the_users():
    call = COUNT % "pens"
    assert TOOL_USE.dialogue.messages('{"count": 3}\nUser: And now cups.', call) == [
        {"role": "tool", "content": '{"count": 3}'},
        {"role": "user", "content": "And now cups."},
    ]
    assert TOOL_USE.dialogue.messages("User: And now cups.", "<answer>done</answer>") == [
        {"role": "user", "content": "And now cups."}
    ]
    assert GAMES.dialogue.messages("User: no", "\\boxed{1}") == [{"role": "user", "content": "User: no"}]
