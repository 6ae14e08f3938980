"""Paired tests over seeds, against values worked by hand."""

import math

import pytest

from spadework.intervals import t_interval, t_quantile
from spadework.significance import t_test
from spadework.study.comparisons import Comparison, compare, ratio_interval, verdict
from spadework.study.spec import Hypothesis


def held_against(own, others, *, by="difference", bar=0.0, side="above", bounds=(-1.0, 1.0)) -> Comparison:
    claim = Hypothesis(claim="own beats others", measure="m", arm="own", than=("others",), by=by, bar=bar, side=side)
    return compare("others", own, others, claim, bounds)


def test_ratio_interval_ends_where_the_test_turns():
    first, second = [0.9, 1.1, 1.4, 1.0], [0.5, 0.6, 0.5, 0.55]
    found = ratio_interval(first, second)
    assert found.mean == pytest.approx(4.4 / 2.15)
    for end in (found.low, found.high):
        seen = t_interval([a - end * b for a, b in zip(first, second, strict=True)])
        assert abs(seen.mean) / (seen.sd / 2) == pytest.approx(t_quantile(0.95, 3))
    assert found.low < found.mean < found.high


def test_a_ratio_to_what_may_be_nothing_has_no_bounds():
    assert ratio_interval([1.0, 1.0, 2.0], [0.1, -0.1, 0.2]).high == math.inf
    assert math.isnan(ratio_interval([1.0, 1.0], [0.0, 0.0]).mean)


def test_a_ratio_is_no_smaller_than_can_be_and_unknown_without_spread():
    noisy = [0.1, 0.9, 0.2], [0.5, 0.6, 0.55]
    assert ratio_interval(*noisy).low < 0 == ratio_interval(*noisy, least=0.0).low
    assert math.isnan(ratio_interval([0.5, 0.5], [0.25, 0.25]).low)
    assert ratio_interval([0.5, 0.5], [0.25, 0.25]).mean == 2.0


def test_bars_and_sides():
    own, others = [0.6, 0.7, 0.8], [0.3, 0.3, 0.4]
    over = held_against(own, others, by="ratio", bar=1.5, bounds=(0.0, math.inf))
    assert over.t_p == pytest.approx(t_test([0.15, 0.25, 0.2]))
    assert over.meets
    under = held_against(own, others, bar=0.5, side="below")
    assert under.t_p == pytest.approx(t_test([0.2, 0.1, 0.1]))
    assert under.estimate == pytest.approx(1.1 / 3)
    assert held_against(own, [0.3, math.nan, 0.4]).n == 2


@pytest.mark.parametrize("own", [[0.0, 1.0], [1.0, 1.0], [0.5, 0.5, 0.5]])
def test_a_difference_is_neither_certain_nor_impossible(own):
    found = held_against(own, [1.0, *[0.5] * (len(own) - 1)])
    assert -1.0 <= found.low < found.high <= 1.0
    equal = held_against(own, own)
    assert -1.0 <= equal.low < 0.0 < equal.high <= 1.0


def test_verdicts():
    wins = held_against([0.9, 0.8, 0.85, 0.9, 0.8], [0.1, 0.2, 0.1, 0.15, 0.1])
    open_ = held_against([0.5, 0.1, 0.9], [0.4, 0.3, 0.3])
    loses = held_against([0.1, 0.1, 0.15], [0.9, 0.8, 0.8])
    nothing = held_against([math.nan], [0.5])
    assert verdict([wins], wins.t_p, 0.05) == "held"
    assert verdict([wins], 0.06, 0.05) == "undecided"
    assert verdict([wins, open_], open_.t_p, 0.05) == "undecided"
    assert verdict([wins, loses], loses.t_p, 0.05) == "not held"
    assert verdict([nothing], 1.0, 0.05) == "undecided"
