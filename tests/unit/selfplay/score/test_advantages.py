"""Method section 6."""

import pytest

from spadework.selfplay.score.advantages import group_advantages


def test_z_scores_with_the_population_deviation():
    # mean 0.5, deviation 0.5
    assert group_advantages([1.0, 0.0, 1.0, 0.0]) == pytest.approx((1.0, -1.0, 1.0, -1.0))
    # mean 0.25, deviation sqrt(3)/4
    assert group_advantages([1.0, 0.0, 0.0, 0.0]) == pytest.approx((3**0.5, -(3**-0.5), -(3**-0.5), -(3**-0.5)))


@pytest.mark.parametrize("returns", [[], [1.0], [0.5, 0.5, 0.5]])
def test_groups_without_spread_are_dropped(returns):
    assert group_advantages(returns) is None
