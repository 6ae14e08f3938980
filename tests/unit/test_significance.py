"""P values by scipy, against values worked by hand."""

import math
import sys

import numpy as np
import pytest

from spadework.errors import ConfigError
from spadework.significance import PATTERNS, holm, sign_flip, t_test


def test_t_by_hand():
    # mean 3, sd sqrt(2.5), t = 3 sqrt(2) on 4 degrees: 1/2 - t (t^2 + 6) / (2 (t^2 + 4)^1.5)
    t = 3 * math.sqrt(2)
    assert t_test([1.0, 2.0, 3.0, 4.0, 5.0]) == pytest.approx(0.5 - t * 24 / (2 * 22**1.5), abs=1e-12)
    assert t_test([-1.0, 1.0]) == pytest.approx(0.5)
    assert math.isnan(t_test([1.0]))


def test_equal_differences_are_left_to_sign_flips():
    assert t_test([0.2, 0.2]) == 0.25
    assert t_test([0.0, 0.0, 0.0]) == 1.0


def test_one_sided_sign_flips_by_hand():
    assert sign_flip([1.0, 2.0, 3.0, 4.0, 5.0], "greater") == 1 / 32
    assert sign_flip([1.0, 2.0, -1.0], "greater") == 3 / 8  # sums of at least 2: 4, and 2 twice
    assert sign_flip([0.1, 0.1, 0.1], "greater") == pytest.approx(1 / 8)
    assert sign_flip([0.1, 0.2, -0.3], "greater") == 5 / 8  # rounding makes no pattern fall short of itself
    assert sign_flip([0.0, 0.0], "greater") == 1.0
    assert math.isnan(sign_flip([], "greater"))


@pytest.mark.parametrize(("wins", "losses", "p"), [(5, 0, 2 / 32), (8, 2, 2 * 56 / 1024), (3, 3, 1.0)])
def test_two_sided_sign_flip_is_mcnemar_for_right_and_wrong(wins: int, losses: int, p: float) -> None:
    assert sign_flip([1.0] * wins + [-1.0] * losses + [0.0] * 7, "two-sided") == pytest.approx(p)


def test_sign_flips_count_and_draw_alike() -> None:
    rng = np.random.default_rng(0)
    few = [float(x) for x in rng.normal(0.5, 1, 14)]
    exact = sign_flip(few, "two-sided")
    signs = rng.choice([-1, 1], (200_000, 14))
    assert exact == pytest.approx(np.mean(np.abs(signs @ few) >= abs(sum(few))), abs=0.01)
    assert sign_flip([1.0, 0.5] * 20, "two-sided") <= 2 / PATTERNS
    many = [float(x) for x in rng.normal(0.2, 1, 40)]
    assert sign_flip(many, "greater") == pytest.approx(t_test(many), abs=0.02)
    assert sign_flip(many, "greater") == sign_flip(many, "greater"), "the draws are seeded"


def test_sign_flips_count_more_differences_than_a_float_holds() -> None:
    assert sign_flip([1.0, -1.0] * 600, "two-sided") == 1.0
    assert 0 < sign_flip([1.0] * 640 + [-1.0] * 560, "two-sided") < 0.03


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.6, math.nan]) == [1.0, 1.0]
    assert holm([]) == []


def test_without_scipy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(ConfigError, match=r"pip install 'spadework\[study\]'"):
        t_test([0.1, 0.2])
