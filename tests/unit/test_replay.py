"""Replaying episodes: what agrees, and the first thing that does not."""

import dataclasses
import math

import pytest

from spadework.envs.sandbox.base import Limits
from spadework.policies.base import SamplingParams
from spadework.replay import Difference, replay_episode
from spadework.rollout import Play, PlaySettings, play_episode
from spadework.testing.scripted import ScriptedPolicy
from spadework.types import Environment, Fault, Turn

PROGRAM = """
import random


class CountEnv:
    max_turns = 3

    def reset(self, seed=None):
        self.secret = random.Random(seed).randint(0, 10**9)
        self.turn = 0
        return f"secret {self.secret}", {}

    def step(self, action):
        self.turn += 1
        if "stop" in action:
            return "stopped", 0.7, True, False, {}
        if "crash" in action:
            raise RuntimeError("crashed")
        return f"turn {self.turn}", 0.1, False, False, {}
"""
LIMITS = Limits()


def environment(source=PROGRAM):
    return Environment("e", source, "go", "s", "games", "d", 0, 0)


async def played(sandbox, *says, max_tokens=100, max_episode_tokens=10_000):
    replies = iter(says)
    policy = ScriptedPolicy(lambda messages, rng, version: next(replies))
    settings = PlaySettings((), LIMITS, SamplingParams(max_tokens), max_episode_tokens)
    return await play_episode(policy, sandbox, Play(environment(), "hinted", 0, 7, 0, (0,)), settings)


GO, STOP, CRASH = (f"\\boxed{{{word}}}" for word in ("go", "stop", "crash"))


@pytest.mark.parametrize(
    ("says", "ending", "turns"),
    [((GO, STOP), "terminated", 2), ((GO, GO, GO), "truncated", 3), (("no box", STOP), "terminated", 2)],
)
async def test_an_episode_comes_out_as_it_was(sandbox, says, ending, turns):
    episode = await played(sandbox, *says)
    assert (episode.ending, len(episode.turns)) == (ending, turns)
    assert await replay_episode(sandbox, environment(), episode, LIMITS) is None


@pytest.mark.parametrize("says", [(GO, "x" * 200), ("x" * 200,)])
async def test_a_cut_reply_never_reached_the_program(sandbox, says):
    episode = await played(sandbox, *says)
    assert episode.ending == "token_limit"
    assert await replay_episode(sandbox, environment(), episode, LIMITS) is None


async def test_a_full_episode_ends_between_turns(sandbox):
    episode = await played(sandbox, "no box", "no box", max_episode_tokens=45)
    assert (episode.ending, episode.turns[-1].action, len(episode.turns)) == ("token_limit", "", 1)
    assert await replay_episode(sandbox, environment(), episode, LIMITS) is None


async def test_a_faulty_episode_is_compared_up_to_its_fault(sandbox):
    episode = await played(sandbox, GO, CRASH)
    assert (episode.ending, len(episode.turns)) == ("fault", 1)
    assert await replay_episode(sandbox, environment(), episode, LIMITS) is None
    differs = await replay_episode(sandbox, environment(PROGRAM.replace("0.1", "0.2")), episode, LIMITS)
    assert differs == Difference(0, "reward", 0.1, 0.2)


async def test_the_first_difference_is_named(sandbox):
    episode = await played(sandbox, GO, STOP)

    async def against(source):
        return await replay_episode(sandbox, environment(source), episode, LIMITS)

    first = await against(PROGRAM.replace("secret {", "hidden {"))
    assert (first.turn, first.field) == (0, "observation")
    assert str(first).startswith("turn 0, observation: was 'secret")
    assert await against(PROGRAM.replace("0.7", "0.7000000000000001")) == Difference(
        1, "reward", 0.7, 0.7000000000000001
    )
    assert await against(PROGRAM.replace('"stopped"', '"ended"')) == Difference(
        None, "last observation", "stopped", "ended"
    )
    assert await against(PROGRAM.replace("True, False", "False, True")) == Difference(
        None, "ending", "terminated", "truncated"
    )
    assert await against(PROGRAM.replace("True, False", "False, False")) == Difference(
        None, "ending", "terminated", None
    )
    assert (await against(PROGRAM.replace("0.1, False, False", "0.1, True, False"))).turn == 1
    crashed = await against(PROGRAM.replace('"stop" in action', "self.turn > 1 and 1 / 0"))
    assert (crashed.field, crashed.stored) == ("fault", None)


async def test_the_return_is_computed_again(sandbox):
    episode = await played(sandbox, GO, STOP)
    assert await replay_episode(sandbox, environment(), episode, LIMITS, "sum") == Difference(
        None, "return", 0.7, 0.7 + 0.1
    )
    forged = dataclasses.replace(episode, turns=(episode.turns[0], Turn("turn 1", STOP, STOP, 0.75)))
    assert (await replay_episode(sandbox, environment(), forged, LIMITS)).field == "reward"


async def test_a_program_that_no_longer_loads_differs_unless_it_never_did(sandbox):
    episode = await played(sandbox, STOP)
    broken = "class CountEnv:\n    x = missing\n"
    found = await replay_episode(sandbox, environment(broken), episode, LIMITS)
    assert found.field == "fault"
    code = found.replayed.partition(":")[0]
    never = dataclasses.replace(
        episode, turns=(), ending="fault", return_=math.nan, last_observation="", fault=Fault("program", code, "")
    )
    assert await replay_episode(sandbox, environment(broken), never, LIMITS) is None
