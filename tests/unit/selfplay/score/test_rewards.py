"""Method section 7: every raw reward against values worked by hand."""

import math

import pytest

from spadework.config import RewardSection
from spadework.errors import ConfigError
from spadework.intervals import Interval
from spadework.selfplay.records import Evidence, Outcome
from spadework.selfplay.score.rewards import build_reward, plateau, progress


def evidence(hinted=0.75, unhinted=0.5, window=(0.5,), **more):
    return Evidence("Optimization", Interval(hinted - unhinted), unhinted, window, **more)


def raw(kind, given, **tables):
    return build_reward(RewardSection.model_validate({"type": kind, **tables}))(given)


def plays(*returns, arm="unhinted"):
    return tuple(Outcome(0, arm, seed, value) for seed, value in enumerate(returns))


@pytest.mark.parametrize(
    ("rate", "expected"),
    [(0.5, 1.0), (0.4, 1.0), (0.6, 1.0), (0.15, 0.0), (0.85, 0.0), (0.275, 0.5), (0.725, 0.5), (0.0, 0.0), (1.0, 0.0)],
)
def test_plateau(rate, expected):
    assert plateau(rate) == pytest.approx(expected)


def test_the_band_of_the_later_4b_run_holds_for_blend_too():
    band = {"low": 0.2, "high": 0.4}
    assert raw("plateau", evidence(window=(0.3,)), plateau=band) == 1.0
    assert raw("plateau", evidence(window=(0.5,)), plateau=band) == pytest.approx(0.6)
    assert raw("blend", evidence(0.3, 0.3, (0.5,)), plateau=band) == pytest.approx(0.6 * 0.6)


def test_the_plateau_of_each_seed():
    # always on half of the seeds and never on the others: the mean of 0 and 0, not the plateau of 0.5
    halves = evidence(window=(0.5,), seeds=(1.0, 0.0))
    assert raw("plateau", halves, plateau={"per_seed": True}) == 0.0
    assert raw("plateau", halves) == 1.0
    three = evidence(window=(0.4,), seeds=(0.5, 0.275, -1.0))
    assert raw("plateau", three, plateau={"per_seed": True}) == pytest.approx(0.5)
    two = evidence(0.8, 0.5, seeds=(0.5, 0.0))
    assert raw("blend", two, plateau={"per_seed": True}) == pytest.approx(0.6 * 0.5 + 0.4)


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


def test_learning_potential_takes_the_whole_window_and_the_history_of_the_skill():
    # mu_slow = 0.15 * 0.5 + 0.85 * 1.0 = 0.925 after two rounds; the window's mean is 0.3
    given = evidence(unhinted=0.9, window=(0.2, 0.4), skill_returns=(0.5, 1.0))
    assert raw("learning_potential", given) == pytest.approx(0.625)
    assert raw("learning_potential", given, learning_potential={"gamma_slow": 0.0}) == pytest.approx(0.2)


def test_micro_learning_progress():
    assert progress((0.1, 0.2, 0.3, 0.4), "slope") == pytest.approx(0.1)
    assert progress((0.1, 0.3, 0.2, 0.6), "halves") == pytest.approx(0.2)
    assert progress((0.1, 9.0, 0.4), "halves") == pytest.approx(0.3)
    assert progress((0.5,), "slope") == progress((), "halves") == 0.0
    assert raw("micro_lp", evidence(window=(0.1, 0.5)), micro_lp={"form": "halves"}) == pytest.approx(0.4)


def test_variance():
    assert raw("variance", evidence(window=(0.25,))) == pytest.approx(0.1875)


def test_spread_sees_single_unhinted_plays():
    coin = evidence(outcomes=(*plays(0.0, 1.0), *plays(1.0, 1.0, arm="hinted")))
    assert raw("spread", coin) == 1.0
    always = evidence(outcomes=plays(1.0, 1.0, 1.0))
    assert raw("spread", always) == pytest.approx(math.exp(-0.0625 / 0.02))
    # returns of 0 and 0.5 have a variance of 0.0625, whatever their mean
    assert raw("spread", evidence(outcomes=plays(0.0, 0.5))) == pytest.approx(math.exp(-(0.1875**2) / 0.02))
    assert raw("spread", evidence(outcomes=plays(1.0))) == 0.0
    assert math.isnan(raw("spread", evidence()))


def test_a_sum_weighs_its_parts():
    given = evidence(0.75, 0.5, (0.5,), outcomes=plays(0.0, 1.0))
    assert raw("sum", given, sum={"blend": 1.0, "spread": 0.5}) == pytest.approx(1.5)
    assert raw("sum", given, sum={"regret": 2.0, "variance": -1.0}) == pytest.approx(0.5 - 0.25)
    assert math.isnan(raw("sum", evidence(math.nan), sum={"plateau": 1.0, "regret": 0.1}))


@pytest.mark.parametrize("kind", ["regret", "blend"])
def test_an_arm_lost_to_faults_is_unknown(kind):
    assert math.isnan(raw(kind, evidence(hinted=math.nan)))
    assert raw("plateau", evidence(hinted=math.nan)) == 1.0


@pytest.mark.parametrize("kind", ["regret", "blend", "plateau", "learning_potential", "micro_lp", "variance", "spread"])
def test_no_reward_makes_up_what_was_not_played(kind):
    unknown = Evidence("s", Interval(math.nan), math.nan, (), skill_returns=(0.5,))
    assert math.isnan(raw(kind, unknown))
    assert math.isnan(raw("plateau", unknown, plateau={"per_seed": True}))


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"type": "bland"}, ["c.toml: reward.type: there is no reward 'bland'", "nearest is 'blend'", "module:NAME"]),
        ({"type": "sum", "sum": {"spred": 1.0}}, ["c.toml: reward.type: there is no reward 'spred'", "'spread'"]),
        ({"regret": {"scale": 1}, "type": "regret"}, ["c.toml: reward.regret.scale: no such key"]),
        ({"blnd": {"regret_scale": 1}}, ["c.toml: reward.blnd: no such key", "reward.blend"]),
        ({"type": "no_such_module:Mine"}, ["c.toml", "reward.type", "cannot be imported"]),
        ({"type": "math:nothing"}, ["c.toml", "math defines no nothing"]),
        ({"type": "math:sqrt"}, ["c.toml", "DesignerReward"]),
    ],
)
def test_what_cannot_be_built_names_file_key_and_way_out(tables, said):
    with pytest.raises(ConfigError) as caught:
        build_reward(RewardSection.model_validate(tables), "c.toml")
    for words in said:
        assert words in str(caught.value)
