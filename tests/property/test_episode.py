"""The rollout adds a policy to an episode, and nothing else: by hand the same replies give the same episode."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spadework.api.opening import open_sandbox
from spadework.background import background
from spadework.envs.sandbox.base import Limits, SyncSession
from spadework.episode import LiveEpisode, SyncEpisode
from spadework.errors import FaultError
from spadework.policies.base import SamplingParams
from spadework.resources import shipped
from spadework.rollout import Play, PlaySettings, play_episode
from spadework.testing.scripted import ScriptedPolicy
from spadework.types import Environment

GAME = """
class FickleEnv:
    max_turns = 4

    def reset(self, seed=None):
        self.said = []
        return f"seed {seed}", {}

    def step(self, action):
        self.said.append(action)
        if "crash" in action:
            raise RuntimeError(f"crashed on {action}")
        reward = 2.0 if "huge" in action else 0.25 * len(self.said)
        return f"{self.said}", reward, "stop" in action, "cut" in action, {}
"""
SHELF = (shipped("examples") / "environments" / "tool_use" / "top_up_a_shelf.py").read_text()
CALL = '<tool_call>{"name": "%s", "arguments": {"item": "pens"}}</tool_call>'

game_replies = st.sampled_from(
    [
        *(f"so \\boxed{{{word}}}" for word in ("go", "stop", "cut", "crash", "huge")),
        "no box",
        "",
        "\\boxed{a",
        "x" * 400,
    ]
)
tool_replies = st.sampled_from(
    [
        *(CALL % name for name in ("count", "order", "none")),
        "<think>hm</think>" + CALL % "count" * 2,
        '<tool_call>{"name": count}</tool_call>',
        "<answer>done</answer>",
        "hello?",
        "",
        "x" * 400,
    ]
)
LIMIT = 300
"""Tokens of a reply, which are bytes here."""
PLAYED = PlaySettings(
    opening=({"role": "system", "content": "play"},),
    limits=Limits(max_turns=6),
    sampling=SamplingParams(LIMIT),
    return_type="discounted",
    discount=0.9,
)


def by_policy(environment, replies):
    said = iter(replies)
    policy = ScriptedPolicy(lambda messages, rng, version: next(said))

    async def play():
        async with open_sandbox() as sandbox:
            return await play_episode(policy, sandbox, Play(environment, "hinted", 0, 3, 0, (0,)), PLAYED)

    return background().run(play())


def by_hand(environment, replies):
    async def open_it():
        async with open_sandbox() as sandbox:
            return await sandbox.open(environment.source, PLAYED.limits)

    live = LiveEpisode(environment.domain, PLAYED.opening, PLAYED.return_type, PLAYED.discount)
    session = SyncSession(background().run(open_it()), background())
    with SyncEpisode(session, live, 3, environment.hint) as hand:
        said = iter(replies)
        while not hand.done:
            reply = next(said)
            if len(reply) > LIMIT:
                live.cut(reply[:LIMIT])
                continue
            with contextlib.suppress(FaultError):
                hand.advance(reply)
    return live


CASES = [(GAME, "games", game_replies), (SHELF, "tool_use", tool_replies)]


@pytest.mark.parametrize(("source", "domain", "replies"), CASES, ids=["games", "tool_use"])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_an_episode_by_hand_is_the_one_that_the_rollout_played(source, domain, replies, data):
    environment = Environment("e", source, "count well", "s", domain, "d", 0, 0)
    said = data.draw(st.lists(replies, min_size=6, max_size=6))
    episode = by_policy(environment, said)
    live = by_hand(environment, said)
    assert tuple(live.turns) == episode.turns
    assert (live.ending, live.last_observation) == (episode.ending, episode.last_observation)
    assert repr(live.return_) == repr(episode.return_)
    assert (live.fault and live.fault.code) == (episode.fault and episode.fault.code)
