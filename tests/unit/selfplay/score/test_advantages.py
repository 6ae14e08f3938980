"""Advantages of a group by hand, for each estimator."""

import pytest

from spadework.config import AgentSection
from spadework.errors import ConfigError, RunError
from spadework.selfplay.score.advantages import build_advantage
from spadework.selfplay.score.rows import agent_rows
from spadework.types import Episode, Group


def advantages(kind, returns, seeds=None, **tables):
    section = AgentSection.model_validate({"advantage": kind, **tables})
    return list(build_advantage(section)(returns, seeds or range(len(returns))))


def test_z_scores_with_the_population_deviation():
    assert advantages("z_score", [0.0, 0.0, 1.0, 1.0]) == pytest.approx([-1, -1, 1, 1], abs=1e-6)
    assert advantages("z_score", [0.0, 0.5, 1.0]) == pytest.approx([-1.2247449, 0, 1.2247449], abs=1e-6)


def test_the_mean_alone():
    assert advantages("mean", [0.0, 0.0, 0.0, 1.0]) == pytest.approx([-0.25, -0.25, -0.25, 0.75])


def test_leave_one_out():
    # each against the mean of the other three: 1 - 0, and 0 - 1/3
    assert advantages("leave_one_out", [1.0, 0.0, 0.0, 0.0]) == pytest.approx([1, -1 / 3, -1 / 3, -1 / 3])


def test_each_seed_has_its_own_baseline():
    # seed 7 is always solved, seed 8 half of the time: only the plays of 8 tell good from bad
    returns, seeds = [1.0, 0.0, 1.0, 1.0], [7, 8, 7, 8]
    assert advantages("per_seed", returns, seeds) == pytest.approx([0, -1, 0, 1], abs=1e-6)
    assert advantages("per_seed", returns, seeds, per_seed={"within": "mean"}) == pytest.approx([0, -0.5, 0, 0.5])
    assert advantages("per_seed", returns, seeds, per_seed={"within": "leave_one_out"}) == pytest.approx([0, -1, 0, 1])
    # over the whole group the plays of 7 are paid for the seed that they were dealt
    assert advantages("mean", returns, seeds) == pytest.approx([0.25, -0.75, 0.25, 0.25])


@pytest.mark.parametrize("kind", ["z_score", "mean", "leave_one_out", "per_seed"])
def test_groups_without_spread_carry_no_gradient(kind):
    for returns in ([0.5] * 8, [0.5, 0.5 + 1e-7], [1.0], []):
        assert advantages(kind, returns, [3] * len(returns)) == [0.0] * len(returns)


def test_an_estimator_that_does_not_exist_is_named():
    with pytest.raises(
        ConfigError, match=r"c\.toml: agent\.advantage: there is no estimator 'zscore'; the nearest is 'z_score'"
    ):
        build_advantage(AgentSection(advantage="zscore"), "c.toml")


@pytest.mark.parametrize("given", [[1.0], [1.0, float("nan")]])
def test_an_estimator_that_does_not_fit_its_group_stops_the_run_by_name(given):
    episodes = tuple(Episode(f"{i}", 0, "e", "unhinted", i, i, (), (), "terminated", float(i)) for i in range(2))
    with pytest.raises(RunError, match=r"agent\.advantage = 'mine:Odd' gave .* for 2 episodes"):
        agent_rows([Group("e", "unhinted", episodes)], lambda returns, seeds: given, AgentSection(advantage="mine:Odd"))
