"""The episode loop: returns, limits, hints, and faults as data."""

from __future__ import annotations

import math
import random

import pytest

from spadework.envs.sandbox.base import Limits
from spadework.episode import episode_return
from spadework.policies.base import Message, SamplingParams
from spadework.rollout import Play, PlaySettings, play_episode
from spadework.selfplay.design.examples import environment_id
from spadework.testing.scripted import ScriptedPolicy
from spadework.types import Environment

COUNTER = """
import random

class CounterEnv:
    max_turns = {turns}

    def reset(self, seed=None):
        self.turn = 0
        self.goal = random.Random(seed).randint(2, 9)
        return f"Say {{self.goal}} in the end.", {{}}

    def step(self, action):
        self.turn += 1
        {body}
        done = self.turn == 3
        return f"turn {{self.turn}}", (1.0 if action == f"\\\\boxed{{{{{{self.goal}}}}}}" else 0.25), done, False, {{}}
"""


def environment(turns=5, body="pass"):
    source = COUNTER.format(turns=turns, body=body)
    return Environment(environment_id(source), source, "count to three", "s", "games", "d", 0, 0)


def settings(**more):
    opening = (Message(role="system", content="play"),)
    return PlaySettings(opening, more.pop("limits", Limits()), SamplingParams(more.pop("max_tokens", 100)), **more)


def play(environment, arm="unhinted"):
    return Play(environment, arm, 0, 7, 3, (3, 2, 0, 0, 0))


def answering(*replies):
    def script(messages, rng: random.Random, version):
        turn = sum(message["role"] == "assistant" for message in messages)
        return replies[min(turn, len(replies) - 1)]

    return ScriptedPolicy(script)


async def test_an_episode_is_played_to_its_end(sandbox):
    goal = random.Random(7).randint(2, 9)
    episode = await play_episode(
        answering("no box", "\\boxed{1}", f"\\boxed{{{goal}}}"), sandbox, play(environment()), settings()
    )
    assert (episode.ending, episode.return_, episode.win, episode.fault) == ("terminated", 1.0, True, None)
    assert [turn.action for turn in episode.turns] == ["", "\\boxed{1}", f"\\boxed{{{goal}}}"]
    assert [turn.observation for turn in episode.turns] == [f"Say {goal} in the end.", "turn 1", "turn 2"]
    (segment,) = episode.segments
    assert segment.sampled == len("no box") + len("\\boxed{1}") + len(f"\\boxed{{{goal}}}") + 3


async def test_the_hint_stands_in_the_first_observation_of_its_arm_alone(sandbox):
    hinted = await play_episode(answering("x"), sandbox, play(environment(), "hinted"), settings())
    unhinted = await play_episode(answering("x"), sandbox, play(environment()), settings())
    assert hinted.turns[0].observation == unhinted.turns[0].observation + "\n\nHINT: count to three"
    assert hinted.turns[1].observation == unhinted.turns[1].observation


@pytest.mark.parametrize(("run_limit", "own", "turns"), [(2, 5, 2), (25, 1, 1), (25, 5, 3)])
async def test_the_programs_own_turn_budget_is_capped_by_the_runs(sandbox, run_limit, own, turns):
    limits = Limits(max_turns=run_limit)
    episode = await play_episode(answering("x"), sandbox, play(environment(turns=own)), settings(limits=limits))
    assert len(episode.turns) == turns
    assert episode.ending == ("terminated" if turns == 3 else "truncated")
    assert episode.return_ == (0.25 if turns == 3 else 0.0)


async def test_a_reply_that_is_cut_ends_the_episode_without_an_action(sandbox):
    episode = await play_episode(answering("\\boxed{12345}" * 9), sandbox, play(environment()), settings(max_tokens=20))
    assert (episode.ending, episode.return_, episode.valid) == ("token_limit", 0.0, True)
    assert episode.turns[0].action == ""
    assert episode.segments[0].sampled == 20


async def test_the_episode_has_a_token_budget(sandbox):
    episode = await play_episode(answering("x" * 30), sandbox, play(environment()), settings(max_episode_tokens=110))
    assert episode.ending == "token_limit"
    assert sum(len(segment.tokens) for segment in episode.segments) <= 110


async def test_a_fault_of_the_program_is_data_and_no_return(sandbox):
    broken = environment(body="if self.turn == 2: raise ValueError('second turn')")
    episode = await play_episode(answering("\\boxed{1}"), sandbox, play(broken), settings())
    assert episode.fault is not None
    assert (episode.fault.kind, episode.fault.code, episode.ending) == ("program", "ENV201", "fault")
    assert "second turn" in episode.fault.message + episode.fault.detail
    assert math.isnan(episode.return_)
    assert len(episode.turns) == 1
    assert episode.segments


async def test_a_hang_is_a_fault_of_the_program(sandbox):
    hanging = environment(body="x = 0\n        while True: x += 1")
    limits = Limits(cpu_seconds=0.3)
    episode = await play_episode(answering("x"), sandbox, play(hanging), settings(limits=limits))
    assert episode.fault is not None
    assert episode.fault.code == "ENV205"


@pytest.mark.parametrize(
    ("rewards", "ending", "kind", "expected"),
    [
        ([0.5, 1.0], "terminated", "last", 1.0),
        ([0.5, 1.0], "truncated", "last", 0.0),
        ([0.5, 3.0], "terminated", "last", 1.0),
        ([-3.0], "terminated", "last", -1.0),
        ([], "token_limit", "last", 0.0),
        ([0.25, 0.25], "truncated", "sum", 0.5),
        ([0.25, 0.5], "terminated", "discounted", 0.25 + 0.5 * 0.5),
        ([0.9, 0.9], "terminated", "sum", 1.0),
    ],
)
def test_returns(rewards, ending, kind, expected):
    assert episode_return(rewards, ending, kind, 0.5) == pytest.approx(expected)
