"""The paired t interval, against tables and by hand."""

import math

import pytest

from spadework.analysis.regret import paired_regret, t_interval, t_quantile
from spadework.types import Episode, Fault, Group

TABLE = {1: 12.7062, 2: 4.3027, 3: 3.1824, 4: 2.7764, 7: 2.3646, 15: 2.1314, 30: 2.0423, 100: 1.9840}


@pytest.mark.parametrize(("degrees", "value"), TABLE.items())
def test_quantiles_are_those_of_the_tables(degrees, value):
    assert t_quantile(0.95, degrees) == pytest.approx(value, abs=5e-5)


def test_other_confidence():
    assert t_quantile(0.99, 5) == pytest.approx(4.0321, abs=5e-5)


def test_an_interval_by_hand():
    found = t_interval([0.0, 1.0, 1.0, 0.0])
    half = 3.1824463 * math.sqrt(1 / 3) / 2
    assert (found.mean, found.low, found.high) == pytest.approx((0.5, 0.5 - half, 0.5 + half))


def test_one_value_has_no_interval_and_none_no_mean():
    assert t_interval([0.25]).mean == 0.25
    assert math.isnan(t_interval([0.25]).low)
    assert math.isnan(t_interval([]).mean)


def group(arm, returns, faulty=()):
    fault = Fault("program", "ENV205", "hung")
    episodes = tuple(
        Episode(
            f"{arm}{seed}", 0, "e", arm, seed, seed, (), (), "terminated", value, "", fault if seed in faulty else None
        )
        for seed, value in enumerate(returns)
    )
    return Group("e", arm, episodes)


def test_only_seeds_that_both_arms_played_without_a_fault_are_paired():
    arms = {"hinted": group("hinted", [1.0, 1.0, 1.0], {0}), "unhinted": group("unhinted", [0.0, 0.0, 1.0, 1.0])}
    assert paired_regret(arms).mean == 0.5


def test_one_arm_gives_no_regret():
    assert math.isnan(paired_regret({"unhinted": group("unhinted", [1.0])}).mean)
