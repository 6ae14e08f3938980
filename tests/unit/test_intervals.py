"""Student intervals, against tables and by hand."""

import math

import pytest

from spadework.intervals import t_interval, t_quantile, t_tail, welch_interval

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


@pytest.mark.parametrize(("degrees", "value"), TABLE.items())
def test_tails_are_those_of_the_tables(degrees, value):
    assert t_tail(value, degrees) == pytest.approx(0.025, abs=1e-5)
    assert t_tail(-value, degrees) == pytest.approx(0.975, abs=1e-5)
    assert t_tail(0.0, degrees) == 0.5
