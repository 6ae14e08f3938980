"""Which rows train, and that a batch's weights are what the module says."""

import dataclasses
import math

import pytest

from spadework.config import AgentSection
from spadework.selfplay.score.advantages import group_advantages
from spadework.selfplay.score.rows import Scored, agent_rows, build_batch, rows_without_advantage
from spadework.types import Episode, Fault, Group, Segment, Turn


def segment(sampled, prompt=2):
    n = prompt + sampled
    return Segment(tuple(range(n)), (False,) * prompt + (True,) * sampled, (0.0,) * prompt + (-1.0,) * sampled, 3)


def episode(index, return_, arm="unhinted", ending="terminated", fault=None, sampled=2):
    return Episode(f"e{index}", 0, "env", arm, index, index, (), (segment(sampled),), ending, return_, fault=fault)


def group(*episodes, arm="unhinted"):
    return Group("env", arm, tuple(episodes))


def test_hinted_episodes_train_only_when_asked_for():
    groups = [
        group(episode(0, 1.0), episode(1, 0.0)),
        group(episode(2, 1.0, "hinted"), episode(3, 0.0, "hinted"), arm="hinted"),
    ]
    assert {
        row.source_id for row in agent_rows(groups, group_advantages, train_hinted=False, mask_truncated=False)
    } == {"e0", "e1"}
    rows = agent_rows(groups, group_advantages, train_hinted=True, mask_truncated=False)
    assert [row.advantage for row in rows] == pytest.approx([1.0, -1.0, 1.0, -1.0])


def test_faults_enter_no_mean_and_no_row():
    broken = episode(2, math.nan, ending="fault", fault=Fault("sandbox", "SBX001", "gone"))
    rows = agent_rows(
        [group(episode(0, 1.0), episode(1, 0.0), broken)], group_advantages, train_hinted=False, mask_truncated=False
    )
    assert [(row.source_id, row.advantage) for row in rows] == [("e0", pytest.approx(1.0)), ("e1", pytest.approx(-1.0))]


def test_a_lone_group_without_spread_leaves_nothing():
    groups = [group(episode(0, 1.0), episode(1, 1.0))]
    assert build_batch(agent_rows(groups, group_advantages, train_hinted=False, mask_truncated=False)) == []


def test_truncated_episodes_can_be_masked():
    rows = agent_rows(
        [group(episode(0, 1.0), episode(1, 0.0, ending="token_limit"))],
        group_advantages,
        train_hinted=False,
        mask_truncated=True,
    )
    assert [row.source_id for row in rows] == ["e0"]


def test_token_weights_are_token_means_within_a_role_and_row_shares_between_roles():
    scored = [
        Scored((segment(1),), 1.0, "agent", "g", "a"),
        Scored((segment(3),), -1.0, "agent", "g", "b"),
        Scored((segment(10),), 2.0, "designer", "d", "c"),
        Scored((segment(5),), 0.0, "designer", "d", "dropped"),
    ]
    rows = build_batch(scored)
    assert [row.source_id for row in rows] == ["a", "b", "c"]
    # three rows; the agent's mean length is 2, the designer's 10
    assert rows[0].advantages == pytest.approx((0, 0, 1 / 6))
    assert rows[1].advantages == pytest.approx((0, 0, -1 / 6, -1 / 6, -1 / 6))
    assert rows[2].advantages == pytest.approx((0, 0, *[2 / 30] * 10))
    assert rows[0].policy_version == 3
    assert {len(row.tokens) - len(row.loss_mask) for row in rows} == {0}


def test_an_episode_of_several_segments_gives_a_row_each():
    rows = build_batch([Scored((segment(2), segment(0), segment(4)), 1.0, "agent", "g", "a")])
    assert [sum(row.loss_mask) for row in rows] == [2, 4]
    assert rows[0].advantages[-1] == pytest.approx(1 / 6)


def test_malformed_turns_can_be_masked_wherever_the_history_forked():
    first = Segment((1, 2, 3, 4, 5), (False, True, True, False, True), (0.0, -1.0, -1.0, 0.0, -2.0), 0)
    second = Segment((1, 6), (False, True), (0.0, -3.0), 0)
    turns = [Turn("", "", "", 0.0, malformed) for malformed in (True, False, True)]
    played = [dataclasses.replace(episode(i, float(i)), turns=tuple(turns), segments=(first, second)) for i in (0, 1)]

    def masks(mask_malformed):
        rows = agent_rows(
            [group(*played)], group_advantages, train_hinted=False, mask_truncated=False, mask_malformed=mask_malformed
        )
        assert [row.source_id for row in rows] == ["e0", "e1"]
        return [(segment.loss_mask, segment.logprobs) for segment in rows[0].segments]

    assert masks(False) == [(first.loss_mask, first.logprobs), (second.loss_mask, second.logprobs)]
    assert masks(True) == [
        ((False, False, False, False, True), (0.0, 0.0, 0.0, 0.0, -2.0)),
        ((False, False), (0.0, 0.0)),
    ]


def test_rows_without_an_advantage_are_what_was_sampled_for_training_and_is_not_in_the_batch():
    groups = [
        group(episode(0, 1.0), episode(1, 1.0)),  # no spread
        group(episode(2, 1.0), episode(3, 0.0), episode(4, 0.0, ending="truncated")),
        group(episode(5, 1.0, "hinted"), episode(6, 1.0, "hinted"), arm="hinted"),
    ]
    unpaid, paid = (Scored((segment(3),), value, "designer", "g", name) for value, name in ((0.0, "d0"), (1.0, "d1")))
    settings = AgentSection(mask_truncated=True)
    agent = agent_rows(groups, group_advantages, train_hinted=False, mask_truncated=True)
    trained = build_batch([*agent, unpaid, paid])
    rows = rows_without_advantage(groups, [unpaid, paid], trained, settings)
    assert [row.source_id for row in rows] == ["e0", "e1", "d0"]
    assert not any(any(row.advantages) for row in rows)
    assert all(any(row.loss_mask) for row in rows)
