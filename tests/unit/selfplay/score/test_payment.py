"""Method section 7, after the raw reward: what hung and mended programs are paid, centring, scale between the roles."""

import math

import pytest

from spadework.config import RewardSection
from spadework.errors import RunError
from spadework.intervals import Interval
from spadework.selfplay.records import Evidence
from spadework.selfplay.score.payment import centre, raw_reward, role_scale
from spadework.selfplay.score.rewards import build_reward


def evidence(hinted=0.75, unhinted=0.5, window=(0.5,), **more):
    return Evidence("Optimization", Interval(hinted - unhinted), unhinted, window, **more)


def raw(kind, given, **settings):
    section = RewardSection.model_validate({"type": kind, **settings})
    return raw_reward(given, build_reward(section), section)


def test_a_hang_costs_and_a_mended_design_earns_nothing():
    assert raw("blend", evidence(hung=True)) == -0.5
    assert raw("blend", evidence(repaired=True)) == 0.0
    assert raw("blend", evidence(hung=True, repaired=True)) == -0.5


def test_a_hang_costs_only_under_the_rewards_that_are_named():
    theirs = {"timeout_under": ("regret",)}
    assert raw("regret", evidence(hung=True), **theirs) == -0.5
    assert raw("blend", evidence(hung=True), **theirs) == 1.0
    assert raw("sum", evidence(hung=True), sum={"regret": 1.0, "plateau": 1.0}, **theirs) == -0.5
    assert raw("sum", evidence(hung=True), sum={"plateau": 1.0}, **theirs) == 1.0
    assert raw("regret", evidence(hung=True), timeout_under=()) == 0.25


def test_novelty_adds_to_what_was_earned_and_to_no_floor():
    assert raw("plateau", evidence(novelty=0.25), novelty=0.2) == pytest.approx(1.05)
    assert raw("plateau", evidence(novelty=0.25)) == 1.0
    assert raw("plateau", evidence(), novelty=0.2) == 1.0
    assert raw("plateau", evidence(novelty=0.25, repaired=True), novelty=0.2) == 0.0


def test_what_is_unknown_is_not_paid():
    assert raw("blend", evidence(hinted=math.nan)) is None
    assert raw("plateau", evidence(hinted=math.nan)) == 1.0
    assert raw("plateau", evidence(window=())) is None


@pytest.mark.parametrize("given", [math.inf, -math.inf, None, "0.5"])
def test_a_reward_that_gives_no_number_stops_the_run_by_name(given):
    with pytest.raises(RunError, match=r"reward\.type = 'mine:Odd' gave .*finite"):
        raw_reward(evidence(), lambda evidence: given, RewardSection(type="mine:Odd"))


def test_centring_by_skill_and_on_the_whole_cycle_for_a_lone_design():
    # skill a: mean 0.5; skill b stands alone: centred on (0.2 + 0.8 + 0.8) / 3 = 0.6
    assert centre([0.2, 0.8, 0.8], ["a", "a", "b"]) == pytest.approx((-0.3, 0.3, 0.2))
    assert centre([], []) == ()


def test_small_skills_are_centred_on_the_whole_cycle():
    # three designs a skill, all rejected in b: centred on themselves they would all be paid 0
    raws, skills = [0.2, 0.4, 0.6, -0.5, -0.5, -0.5], list("aaabbb")
    assert centre(raws, skills, 2)[3:] == (0.0, 0.0, 0.0)
    whole = sum(raws) / 6
    assert centre(raws, skills, 4) == pytest.approx([raw - whole for raw in raws])
    assert centre(raws, [*"aaaa", "b", "b"], 3) == pytest.approx(
        [raw - (0.2 + 0.4 + 0.6 - 0.5) / 4 for raw in raws[:4]] + [raw - whole for raw in raws[4:]]
    )


def test_with_a_limit_of_one_a_lone_design_is_paid_nothing():
    """Eq. 6 to the letter."""
    assert centre([0.2, 0.8], ["a", "b"], 1) == (0.0, 0.0)


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
