"""Which rows train, and that a batch's weights are what the module says."""

import dataclasses
import math

import pytest

from spadework.config import AgentSection, UpdateSection
from spadework.errors import RunError
from spadework.selfplay.score.advantages import build_advantage
from spadework.selfplay.score.averages import build_average
from spadework.selfplay.score.rows import Scored, agent_rows, agent_samples, build_batch, rows_without_advantage
from spadework.types import Episode, Fault, Group, Segment, Turn


def rows_of(groups, **settings):
    section = AgentSection(**settings)
    return agent_rows(groups, build_advantage(section), section)


def batch(scored, average="token_mean", **tables):
    section = UpdateSection.model_validate({"average": average, **tables})
    return build_batch(scored, build_average(section))


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
    assert {row.source_id for row in rows_of(groups)} == {"e0", "e1"}
    rows = rows_of(groups, train_hinted=True)
    assert [row.advantage for row in rows] == pytest.approx([1.0, -1.0, 1.0, -1.0])


def test_faults_enter_no_mean_and_no_row():
    broken = episode(2, math.nan, ending="fault", fault=Fault("sandbox", "SBX001", "gone"))
    rows = rows_of([group(episode(0, 1.0), episode(1, 0.0), broken)])
    assert [(row.source_id, row.advantage) for row in rows] == [("e0", pytest.approx(1.0)), ("e1", pytest.approx(-1.0))]


def test_a_lone_group_without_spread_leaves_nothing():
    groups = [group(episode(0, 1.0), episode(1, 1.0))]
    assert rows_of(groups) == []


def test_truncated_episodes_can_be_masked():
    rows = rows_of([group(episode(0, 1.0), episode(1, 0.0, ending="token_limit"))], mask_truncated=True)
    assert [row.source_id for row in rows] == ["e0"]


def test_token_weights_are_token_means_within_a_role_and_row_shares_between_roles():
    scored = [
        Scored((segment(1),), 1.0, "agent", "g", "a"),
        Scored((segment(3),), -1.0, "agent", "g", "b"),
        Scored((segment(10),), 2.0, "designer", "d", "c"),
        Scored((segment(5),), 0.0, "designer", "d", "dropped"),
    ]
    rows = batch(scored)
    assert [row.source_id for row in rows] == ["a", "b", "c"]
    # three rows; the agent's mean length is 2, the designer's 10
    assert rows[0].advantages == pytest.approx((0, 0, 1 / 6))
    assert rows[1].advantages == pytest.approx((0, 0, -1 / 6, -1 / 6, -1 / 6))
    assert rows[2].advantages == pytest.approx((0, 0, *[2 / 30] * 10))
    assert rows[0].policy_version == 3
    assert {len(row.tokens) - len(row.loss_mask) for row in rows} == {0}


def test_an_episode_of_several_segments_gives_a_row_each():
    rows = batch([Scored((segment(2), segment(0), segment(4)), 1.0, "agent", "g", "a")])
    assert [sum(row.loss_mask) for row in rows] == [2, 4]
    assert rows[0].advantages[-1] == pytest.approx(1 / 6)


def test_malformed_turns_can_be_masked_wherever_the_history_forked():
    first = Segment((1, 2, 3, 4, 5), (False, True, True, False, True), (0.0, -1.0, -1.0, 0.0, -2.0), 0)
    second = Segment((1, 6), (False, True), (0.0, -3.0), 0)
    turns = [Turn("", "", "", 0.0, malformed) for malformed in (True, False, True)]
    played = [dataclasses.replace(episode(i, float(i)), turns=tuple(turns), segments=(first, second)) for i in (0, 1)]

    def masks(mask_malformed):
        rows = rows_of([group(*played)], mask_malformed=mask_malformed)
        assert [row.source_id for row in rows] == ["e0", "e1"]
        return [(segment.loss_mask, segment.logprobs) for segment in rows[0].segments]

    assert masks(False) == [(first.loss_mask, first.logprobs), (second.loss_mask, second.logprobs)]
    assert masks(True) == [
        ((False, False, False, False, True), (0.0, 0.0, 0.0, 0.0, -2.0)),
        ((False, False), (0.0, 0.0)),
    ]


def test_the_scale_between_the_roles_counts_all_that_was_sampled():
    fault = episode(3, math.nan, ending="fault", fault=Fault("sandbox", "SBX001", "gone"))
    groups = [
        group(episode(0, 1.0), episode(1, 1.0), episode(2, 1.0), fault),
        group(episode(4, 1.0, "hinted"), arm="hinted"),
        group(episode(5, 1.0, "placebo"), arm="placebo"),
    ]
    assert agent_samples(groups, AgentSection()) == 3, "a group without a gradient counts, a fault does not"
    assert agent_samples(groups, AgentSection(train_hinted=True)) == 4


SAMPLES = [
    Scored((segment(1),), 1.0, "agent", "g", "a"),
    Scored((segment(2), segment(1)), -1.0, "agent", "g", "b"),
    Scored((segment(10),), 2.0, "designer", "d", "c"),
]


@pytest.mark.parametrize(
    ("average", "lengths"),
    [("token_mean", (2, 2, 2, 10)), ("sample_mean", (1, 3, 3, 10)), ("constant_length", (8, 8, 8, 8))],
)
def test_each_average_divides_by_its_length(average, lengths):
    rows = batch(SAMPLES, average, constant_length={"tokens": 8})
    advantages = (1.0, -1.0, -1.0, 2.0)
    expected = [advantage / (3 * length) for advantage, length in zip(advantages, lengths, strict=True)]
    assert [row.advantages[-1] for row in rows] == pytest.approx(expected)


def test_under_the_mean_of_samples_every_sample_weighs_alike():
    weights = {}
    for row in batch(SAMPLES, "sample_mean"):
        weights[row.source_id] = weights.get(row.source_id, 0.0) + math.fsum(map(abs, row.advantages))
    assert weights == pytest.approx({"a": 1 / 3, "b": 1 / 3, "c": 2 / 3})


@pytest.mark.parametrize("given", [[1.0], [1.0, 0.0], [1.0, math.nan]])
def test_an_average_that_does_not_fit_its_role_stops_the_run(given):
    with pytest.raises(RunError, match=r"update\.average gave .* for 2 samples"):
        build_batch(SAMPLES, lambda lengths: given)


def test_rows_without_an_advantage_are_what_was_sampled_for_training_and_is_not_in_the_batch():
    groups = [
        group(episode(0, 1.0), episode(1, 1.0)),  # no spread
        group(episode(2, 1.0), episode(3, 0.0), episode(4, 0.0, ending="truncated")),
        group(episode(5, 1.0, "hinted"), episode(6, 1.0, "hinted"), arm="hinted"),
    ]
    unpaid, paid = (Scored((segment(3),), value, "designer", "g", name) for value, name in ((0.0, "d0"), (1.0, "d1")))
    settings = AgentSection(mask_truncated=True)
    agent = rows_of(groups, mask_truncated=True)
    trained = batch([*agent, unpaid, paid])
    rows = rows_without_advantage(groups, [unpaid, paid], trained, settings)
    assert [row.source_id for row in rows] == ["e0", "e1", "d0"]
    assert not any(any(row.advantages) for row in rows)
    assert all(any(row.loss_mask) for row in rows)
