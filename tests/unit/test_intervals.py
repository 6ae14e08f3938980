"""Intervals, by hand, against tables, and against scipy."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from spadework.intervals import (
    bounded_regret,
    difference_interval,
    equal_values_interval,
    mean_interval,
    share_interval,
    t_interval,
    t_quantile,
    welch_interval,
)

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
    assert (found.sd, found.n) == (pytest.approx(math.sqrt(1 / 3)), 4)


def test_one_value_has_no_interval_and_none_no_mean():
    assert (t_interval([0.25]).mean, t_interval([0.25]).n) == (0.25, 1)
    assert math.isnan(t_interval([0.25]).low)
    assert math.isnan(t_interval([]).mean)


def test_weights():
    assert t_interval([0.0, 1.0, 1.0], weights=[2.0, 2.0, 2.0]) == t_interval([0.0, 1.0, 1.0])
    found = t_interval([0.0, 1.0], weights=[1.0, 3.0])
    # shares 1/4 and 3/4: mean 3/4, t(1) * sd * sqrt(10/16)
    half = 12.7062047 * math.sqrt(0.5) * math.sqrt(10) / 4
    assert (found.mean, found.high) == pytest.approx((0.75, 0.75 + half))


def test_welch_by_hand():
    # means 1 and 0.5; variances 1/3 over 3 values and 1/2 over 2
    found = welch_interval([1.0 - math.sqrt(1 / 3), 1.0, 1.0 + math.sqrt(1 / 3)], [0.0, 1.0])
    error = math.sqrt(1 / 9 + 1 / 4)
    # degrees (13/36)^2 / ((1/9)^2 / 2 + (1/4)^2 / 1) = 1.899, so 1
    assert (found.mean, found.high - found.mean) == pytest.approx((0.5, 12.7062047 * error))
    assert math.isnan(welch_interval([1.0], [0.0, 1.0]).low)
    assert welch_interval([1.0, 1.0], [0.0, 0.0]).low == 1.0


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 9, 10, 57, 400])
def test_quantiles_are_scipys(degrees, confidence):
    assert t_quantile(confidence, degrees) == pytest.approx(stats.t.ppf((1 + confidence) / 2, degrees), rel=1e-9)


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=12), st.lists(st.floats(-1, 1), min_size=2, max_size=12))
def test_student_and_welch_are_scipys(first, second):
    if np.std(first) < 1e-6 or np.std(second) < 1e-6:
        return
    theirs = stats.t.interval(0.95, len(first) - 1, np.mean(first), stats.sem(first))
    found = t_interval(first)
    assert (found.low, found.high) == pytest.approx(theirs, abs=1e-9)
    welch = stats.ttest_ind(first, second, equal_var=False).confidence_interval()
    ours = welch_interval(first, second)  # whole degrees of freedom: no narrower
    assert ours.low <= welch.low + 1e-9
    assert ours.high >= welch.high - 1e-9


@pytest.mark.parametrize("n", [1, 2, 3, 4, 16, 60, 700, 20_000])
def test_shares_are_scipys(n):
    for wins in {0, 1, n // 3, n - 1, n}:
        found = share_interval(wins, n)
        theirs = stats.binomtest(wins, n).proportion_ci(method="exact")
        assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
        assert found.mean == wins / n


def test_a_share_of_nothing_is_unknown():
    assert math.isnan(share_interval(0, 0).mean)
    assert math.isnan(share_interval(0, 0).low)


@given(st.lists(st.sampled_from([-1.0, 0.0, 0.1, 1.0]), min_size=2, max_size=6), st.sampled_from([(-1, 1), (-2, 2)]))
def test_an_interval_of_a_bounded_mean_is_possible_and_has_a_width(values, bounds):
    found = mean_interval(values, *bounds)
    assert bounds[0] <= found.low <= found.mean <= found.high <= bounds[1]
    assert found.high - found.low > 0.01


@given(
    st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=2, max_size=6),
    st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=2, max_size=6),
)
def test_an_interval_of_a_bounded_difference_is_possible_and_has_a_width(first, second):
    found = difference_interval(first, second, 0.0, 1.0)
    assert -1.0 <= found.low <= found.mean <= found.high <= 1.0
    assert found.high - found.low > 0.01


@pytest.mark.parametrize("n", [2, 4, 50])
def test_equal_wins_have_the_binomial_interval(n):
    one, exact = mean_interval([1.0] * n, 0.0, 1.0), share_interval(n, n)
    assert (one.low, one.high) == pytest.approx((exact.low, exact.high))


def test_equal_values_between_the_ends_may_be_missed_on_either_side():
    found = equal_values_interval(0.5, 4, 0.0, 1.0)
    unseen = 1 - 0.025 ** (1 / 4)
    assert (found.low, found.high) == pytest.approx((0.5 - unseen / 2, 0.5 + unseen / 2))
    assert math.isnan(mean_interval([3.0, 3.0], 0.0, math.inf).low)


def test_values_with_a_spread_have_students_interval_where_it_is_possible():
    values = [0.4, 0.5, 0.45, 0.55]
    assert mean_interval(values, 0.0, 1.0) == t_interval(values)
    assert (mean_interval([0.0, 1.0], 0.0, 1.0).low, mean_interval([0.0, 1.0], 0.0, 1.0).high) == (0.0, 1.0)
    assert math.isnan(mean_interval([0.5], 0.0, 1.0).low)


def test_bounded_means_are_covered_as_often_as_they_say():
    rng = np.random.default_rng(5)
    for truth in (0.02, 0.5, 0.98):
        inside = 0
        for _ in range(400):
            wins = int((rng.random(12) < truth).sum())
            found = share_interval(wins, 12)
            inside += found.low <= truth <= found.high
        assert inside / 400 >= 0.95


def test_a_regret_that_every_seed_shares_has_an_interval_with_a_width() -> None:
    found = bounded_regret(t_interval([0.0] * 8))
    assert -2 < found.low < 0 < found.high < 2
    assert bounded_regret(t_interval([1.0] * 8)).low < 1.0
    added_up = bounded_regret(t_interval([5.0, 5.0]))
    assert math.isnan(added_up.low) and math.isnan(added_up.high)
