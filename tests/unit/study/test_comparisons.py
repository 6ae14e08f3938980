"""Paired tests over seeds, against values worked by hand."""

import math

import pytest

from spadework.intervals import t_interval, t_quantile
from spadework.study.comparisons import compare, holm, paired_t, ratio_interval, sign_flip, verdict


def test_paired_t_by_hand():
    # mean 3, sd sqrt(2.5), t = 3 sqrt(2) on 4 degrees: 1/2 - t (t^2 + 6) / (2 (t^2 + 4)^1.5)
    t = 3 * math.sqrt(2)
    assert paired_t([1.0, 2.0, 3.0, 4.0, 5.0]) == pytest.approx(0.5 - t * 24 / (2 * 22**1.5), abs=1e-12)
    assert paired_t([1.0, 2.0, 3.0, 4.0, 5.0]) == pytest.approx(0.00662, abs=1e-5)
    assert paired_t([-1.0, 1.0]) == pytest.approx(0.5)
    assert math.isnan(paired_t([1.0]))


def test_sign_flips_by_hand():
    assert sign_flip([1.0, 2.0, 3.0, 4.0, 5.0]) == 1 / 32
    assert sign_flip([1.0, 2.0, -1.0]) == 3 / 8  # sums of at least 2: 4, and 2 twice
    assert sign_flip([0.1, 0.1, 0.1]) == 1 / 8  # rounding makes no pattern fall short of itself
    assert sign_flip([0.0, 0.0]) == 1.0
    assert math.isnan(sign_flip([]))
    assert math.isnan(sign_flip([1.0] * 21))


def test_equal_differences_are_left_to_sign_flips():
    assert paired_t([0.2, 0.2]) == 0.25
    assert paired_t([0.0, 0.0, 0.0]) == 1.0


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


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.6, math.nan]) == [1.0, 1.0]
    assert holm([]) == []


def test_bars_and_sides():
    own, others = [0.6, 0.7, 0.8], [0.3, 0.3, 0.4]
    over = compare("b", own, others, by="ratio", bar=1.5, side="above")
    assert over.t_p == pytest.approx(paired_t([0.15, 0.25, 0.2]))
    assert over.meets
    under = compare("b", own, others, by="difference", bar=0.5, side="below")
    assert under.t_p == pytest.approx(paired_t([0.2, 0.1, 0.1]))
    assert under.estimate == pytest.approx(1.1 / 3)
    assert compare("b", own, [0.3, math.nan, 0.4], by="difference", bar=0.0, side="above").n == 2


def test_verdicts():
    wins = compare("b", [0.9, 0.8, 0.85, 0.9, 0.8], [0.1, 0.2, 0.1, 0.15, 0.1], by="difference", bar=0.0, side="above")
    open_ = compare("c", [0.5, 0.1, 0.9], [0.4, 0.3, 0.3], by="difference", bar=0.0, side="above")
    loses = compare("d", [0.1, 0.1, 0.15], [0.9, 0.8, 0.8], by="difference", bar=0.0, side="above")
    nothing = compare("e", [math.nan], [0.5], by="difference", bar=0.0, side="above")
    assert verdict([wins], wins.t_p, 0.05) == "held"
    assert verdict([wins], 0.06, 0.05) == "undecided"
    assert verdict([wins, open_], open_.t_p, 0.05) == "undecided"
    assert verdict([wins, loses], loses.t_p, 0.05) == "not held"
    assert verdict([nothing], 1.0, 0.05) == "undecided"
