"""What every door is made of: the same transcript as an episode by hand, and one way to pay."""

from __future__ import annotations

import math

import pytest

from spadework import ConfigError, Environment, open_episode
from spadework.api.inputs import read_environment
from spadework.interop.episodes import Episodes, gold_actions

PROGRAM, SEED = "code_breaker", 3


@pytest.fixture(scope="module")
def gold() -> list[str]:
    return list(gold_actions(PROGRAM, SEED))


def test_the_same_seed_and_replies_give_the_same_transcript_as_an_episode_by_hand(gold: list[str]) -> None:
    replies = ["I guess \\boxed{BBB}.", "I do not know.", *gold]
    with open_episode(PROGRAM, SEED) as by_hand, Episodes(PROGRAM) as episodes:
        assert episodes.reset(SEED) == by_hand.messages[-1]["content"]
        for reply in replies:
            by_hand.advance(reply)
            played = episodes.step(reply)
            assert played.observation == by_hand.last_observation
            assert played.step_reward == by_hand.turns[-1].reward
        assert (played.done, played.terminated, played.reward) == (True, True, by_hand.return_)
        assert episodes.turns == by_hand.turns and episodes.messages == by_hand.messages


def test_nothing_is_paid_before_the_end_and_nothing_for_a_cut_episode() -> None:
    with Episodes(PROGRAM) as episodes:
        episodes.reset(SEED)
        played = [episodes.step("no answer") for _ in range(episodes.max_turns)]
    assert [one.done for one in played] == [False] * (len(played) - 1) + [True]
    assert played[-1].truncated and not played[-1].terminated and {one.reward for one in played} == {0.0}


def test_a_reset_gives_the_episode_before_up(gold: list[str]) -> None:
    with Episodes(PROGRAM, hint=True) as episodes:
        first = episodes.reset(SEED)
        episodes.step("\\boxed{BBB}")
        assert math.isnan(episodes.return_)
        assert episodes.reset(SEED) == first and "HINT: " in first and not episodes.turns
        assert "\\boxed" in episodes.instructions


def test_what_cannot_be_played_is_refused_in_a_line() -> None:
    source = read_environment(PROGRAM).source
    bare = Environment("x", source, "", "", "games", "", 0, 0)
    with pytest.raises(ConfigError, match="has no hint to show; use hint=False"):
        Episodes(bare, hint=True)
    with pytest.raises(ValueError, match=r"call reset\(seed\) first"):
        Episodes(PROGRAM).step("x")
