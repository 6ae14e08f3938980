"""Method section 7, every formula against values worked by hand."""

import math

import pytest

from spadework.config import RewardSection
from spadework.intervals import Interval
from spadework.selfplay.records import Evidence
from spadework.selfplay.score.rewards import SkillAverages, centre, plateau, progress, raw_reward, role_scale

AVERAGES = SkillAverages(0.98, 0.85)


def evidence(hinted=0.75, unhinted=0.5, window=(0.5,), **more):
    return Evidence("Optimization", Interval(hinted - unhinted), unhinted, window, **more)


def raw(kind, given, averages=AVERAGES, **settings):
    return raw_reward(given, RewardSection(type=kind, **settings), averages)


@pytest.mark.parametrize(
    ("rate", "expected"),
    [(0.5, 1.0), (0.4, 1.0), (0.6, 1.0), (0.15, 0.0), (0.85, 0.0), (0.275, 0.5), (0.725, 0.5), (0.0, 0.0), (1.0, 0.0)],
)
def test_plateau(rate, expected):
    assert plateau(rate) == pytest.approx(expected)


def test_the_band_of_the_later_4b_run():
    assert plateau(0.3, 0.2, 0.4) == 1.0
    assert plateau(0.5, 0.2, 0.4) == pytest.approx(0.6)


def test_the_plateau_of_each_seed():
    # always on half of the seeds and never on the others: the mean of 0 and 0, not the plateau of 0.5
    halves = evidence(window=(0.5,), seeds=(1.0, 0.0))
    assert raw("plateau", halves, per_seed=True) == 0.0
    assert raw("plateau", halves) == 1.0
    assert raw("plateau", evidence(window=(0.4,), seeds=(0.5, 0.275, -1.0)), per_seed=True) == pytest.approx(0.5)
    assert raw("blend", evidence(0.8, 0.5, seeds=(0.5, 0.0)), per_seed=True) == pytest.approx(0.6 * 0.5 + 0.4)


def test_regret_is_floored_at_zero():
    assert raw("regret", evidence(0.75, 0.5)) == 0.25
    assert raw("regret", evidence(0.25, 0.5)) == 0.0


def test_blend():
    # w = 0.3 -> plateau 1 - 0.1/0.25 = 0.6; regret 0.06 -> 0.4; 0.6 * 0.6 + 0.4 * 0.4
    assert raw("blend", evidence(0.36, 0.30, (0.2, 0.4))) == pytest.approx(0.52)
    # regret beyond 0.15 earns no more; a negative one costs nothing
    assert raw("blend", evidence(0.9, 0.5)) == pytest.approx(1.0)
    assert raw("blend", evidence(0.3, 0.5)) == pytest.approx(0.6)


def test_the_solve_rate_is_clipped_to_the_unit_interval():
    assert evidence(window=(-1.0, -0.5)).solve_rate == 0.0
    assert raw("plateau", evidence(window=(-1.0,))) == 0.0


def test_learning_potential_and_its_averages():
    averages = SkillAverages(0.98, 0.85)
    assert raw("learning_potential", evidence(unhinted=0.7), averages) == 0.0
    averages.update("Optimization", 0.5)
    assert averages.slow == averages.fast == {"Optimization": 0.5}
    assert raw("learning_potential", evidence(unhinted=0.2), averages) == pytest.approx(0.3)
    averages.update("Optimization", 1.0)
    assert averages.slow["Optimization"] == pytest.approx(0.15 * 0.5 + 0.85)
    assert averages.fast["Optimization"] == pytest.approx(0.02 * 0.5 + 0.98)
    averages.update("Optimization", math.nan)
    assert averages.slow["Optimization"] == pytest.approx(0.925)


def test_micro_learning_progress():
    assert progress((0.1, 0.2, 0.3, 0.4), "slope") == pytest.approx(0.1)
    assert progress((0.1, 0.3, 0.2, 0.6), "halves") == pytest.approx(0.2)
    assert progress((0.1, 9.0, 0.4), "halves") == pytest.approx(0.3)
    assert progress((0.5,), "slope") == progress((), "halves") == 0.0
    assert raw("micro_lp", evidence(window=(0.1, 0.5)), micro_lp="halves") == pytest.approx(0.4)


def test_variance():
    assert raw("variance", evidence(window=(0.25,))) == pytest.approx(0.1875)


def test_a_hang_costs_and_a_mended_design_earns_nothing():
    assert raw("blend", evidence(hung=True)) == -0.5
    assert raw("blend", evidence(repaired=True)) == 0.0
    assert raw("blend", evidence(hung=True, repaired=True)) == -0.5


def test_novelty_adds_to_what_was_earned_and_to_no_floor():
    assert raw("plateau", evidence(novelty=0.25), novelty=0.2) == pytest.approx(1.05)
    assert raw("plateau", evidence(novelty=0.25)) == 1.0
    assert raw("plateau", evidence(), novelty=0.2) == 1.0
    assert raw("plateau", evidence(novelty=0.25, repaired=True), novelty=0.2) == 0.0


@pytest.mark.parametrize("kind", ["regret", "blend"])
def test_an_arm_lost_to_faults_gives_no_reward(kind):
    assert raw(kind, evidence(hinted=math.nan)) is None
    assert raw("plateau", evidence(hinted=math.nan)) == 1.0
    assert raw("plateau", evidence(window=())) is None


def test_centring_by_skill_and_on_the_whole_cycle_for_a_lone_design():
    # skill a: mean 0.5; skill b stands alone: centred on (0.2 + 0.8 + 0.8) / 3 = 0.6
    assert centre([0.2, 0.8, 0.8], ["a", "a", "b"]) == pytest.approx((-0.3, 0.3, 0.2))
    assert centre([], []) == ()


def test_hopeless_environments_among_themselves_earn_nothing():
    hopeless = [raw("blend", evidence(0.0, 0.0, (0.0,))), raw("blend", evidence(-0.2, 0.0, (0.0,)))]
    assert hopeless == [0.0, 0.0]
    assert centre(hopeless, ["a", "a"]) == (0.0, 0.0)


def test_role_scale():
    settings = RewardSection()
    assert role_scale(96, 24, 4, settings) == 16.0
    assert role_scale(960, 24, 4, settings) == 50.0
    assert role_scale(0, 24, 4, settings) == role_scale(96, 0, 4, settings) == 1.0
    assert role_scale(96, 24, 4, RewardSection(role_scaling=False)) == 1.0
    assert role_scale(960, 24, 4, RewardSection(role_weight=3.0)) == 150.0
