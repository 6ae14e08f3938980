"""An episode without a policy: what is shown, what counts, and how it ends, in both domains."""

from __future__ import annotations

import math

import pytest

from spadework.envs.sandbox.base import Limits
from spadework.episode import LiveEpisode
from spadework.errors import ProgramError
from spadework.resources import shipped
from spadework.types import Fault, Turn

COUNTER = """
class CounterEnv:
    max_turns = 3

    def reset(self, seed=None):
        self.turn = 0
        return f"seed {seed}", {}

    def step(self, action):
        self.turn += 1
        if "crash" in action:
            raise RuntimeError("crashed")
        return f"turn {self.turn}", 0.5, "stop" in action, False, {}
"""
SHELF = (shipped("examples") / "environments" / "tool_use" / "top_up_a_shelf.py").read_text()
COUNT = '<tool_call>{"name": "count", "arguments": {"item": "pens"}}</tool_call>'
SYSTEM = {"role": "system", "content": "play"}
GO, STOP, CRASH = (f"\\boxed{{{word}}}" for word in ("go", "stop", "crash"))


@pytest.fixture
async def opened(sandbox):
    """Opens an episode of a program."""

    async def open_it(source=COUNTER, domain="games", hint="", limits=None, **more):
        session = await sandbox.open(source, limits or Limits())
        episode = LiveEpisode(domain, (SYSTEM,), **more)
        return episode, await episode.open(session, 5, hint)

    return open_it


async def test_the_opening_messages_are_the_prompt_and_the_first_observation_with_its_hint(opened):
    episode, messages = await opened(hint="be quick")
    assert messages == (SYSTEM, {"role": "user", "content": "seed 5\n\nHINT: be quick"})
    assert (episode.done, episode.ending, episode.turns) == (False, None, [])
    assert math.isnan(episode.return_)


async def test_a_reply_is_played_and_answered(opened):
    episode, _ = await opened()
    assert await episode.advance(f"I think {GO}") == ({"role": "user", "content": "turn 1"},)
    assert await episode.advance("no box") == ({"role": "user", "content": "turn 2"},)
    assert await episode.advance(STOP) == ()
    assert episode.turns == [
        Turn("seed 5", f"I think {GO}", GO, 0.5),
        Turn("turn 1", "no box", "", 0.5, malformed=True),
        Turn("turn 2", STOP, STOP, 0.5),
    ]
    assert (episode.ending, episode.return_, episode.last_observation) == ("terminated", 0.5, "turn 3")
    roles = [message["role"] for message in episode.messages]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user", "assistant"]


@pytest.mark.parametrize(("limit", "turns"), [(2, 2), (25, 3)])
async def test_the_turn_limit_cuts_an_episode_which_then_pays_nothing(opened, limit, turns):
    episode, _ = await opened(limits=Limits(max_turns=limit))
    while not episode.done:
        await episode.advance(GO)
    assert (episode.ending, len(episode.turns), episode.return_) == ("truncated", turns, 0.0)


async def test_other_kinds_of_return_count_every_turn(opened):
    episode, _ = await opened(return_type="discounted", discount=0.5)
    while not episode.done:
        await episode.advance(GO)
    assert episode.return_ == pytest.approx(0.5 + 0.25 + 0.125)


async def test_a_reply_that_the_token_limit_cut_is_kept_and_never_played(opened):
    episode, _ = await opened()
    await episode.advance(GO)
    episode.cut("I was ab")
    assert episode.turns[-1] == Turn("turn 1", "I was ab", "", 0.0)
    assert (episode.ending, episode.return_, episode.last_observation) == ("token_limit", 0.0, "turn 1")
    bare, _ = await opened()
    bare.cut()
    assert (bare.ending, bare.turns) == ("token_limit", [])


async def test_a_fault_of_the_program_ends_the_episode_and_is_no_turn(opened):
    episode, _ = await opened()
    await episode.advance(GO)
    with pytest.raises(ProgramError):
        await episode.advance(CRASH)
    assert (episode.ending, episode.fault.code, len(episode.turns)) == ("fault", "ENV201", 1)
    assert math.isnan(episode.return_)


async def test_a_program_that_cannot_be_reset_ends_the_episode_before_it_began(sandbox):
    session = await sandbox.open(COUNTER.replace("self.turn = 0", "raise KeyError"), Limits())
    episode = LiveEpisode("games")
    with pytest.raises(ProgramError):
        await episode.open(session, 0)
    assert (episode.ending, episode.messages) == ("fault", [])


async def test_a_fault_from_outside_ends_it_as_well():
    episode = LiveEpisode("games")
    episode.fail(Fault("endpoint", "LATE", "too late"))
    assert (episode.done, episode.fault.code) == (True, "LATE")


async def test_calls_out_of_order_are_refused(opened, sandbox):
    episode, _ = await opened()
    with pytest.raises(ValueError, match="opened once"):
        await episode.open(await sandbox.open(COUNTER, Limits()), 0)
    await episode.advance(STOP)
    with pytest.raises(ValueError, match="has ended"):
        await episode.advance(GO)
    with pytest.raises(ValueError, match="open"):
        await LiveEpisode("games").advance(GO)


async def test_in_tool_use_results_come_from_the_tool_and_bad_calls_are_marked(opened):
    episode, messages = await opened(SHELF, "tool_use")
    assert [message["role"] for message in messages] == ["system", "user"]
    (result,) = await episode.advance(f"<think>hm</think>{COUNT}")
    assert (result["role"], episode.turns[0].action) == ("tool", COUNT)
    (complaint,) = await episode.advance('<tool_call>{"name": count}</tool_call>')
    assert "Malformed tool call" in complaint["content"]
    await episode.advance("hello?")
    assert [turn.malformed for turn in episode.turns] == [False, True, True]
    assert [turn.action for turn in episode.turns][2] == ""
    while not episode.done:
        await episode.advance("<answer>done</answer>")
    assert episode.ending in ("terminated", "truncated")
    assert -1.0 <= episode.return_ <= 1.0
