"""Adaptive allocation: when it looks and stops, and that stopping early biases nothing."""

import itertools
import math

import pytest

from spadework.config import PlaySection, RewardSection, RunConfig
from spadework.intervals import Interval
from spadework.selfplay.play.allocation import Allocation
from spadework.selfplay.records import Evidence
from spadework.selfplay.score.seeds import estimate
from spadework.types import Episode, Group


def allocation(full=16, **play):
    given = {
        "allocation": "adaptive",
        "episodes": full,
        "start_episodes": 4,
        "batch_episodes": 4,
        "tolerance": 0.35,
        **play,
    }
    return Allocation(PlaySection(**given), RewardSection(), full)


def group(arm, returns):
    episodes = (Episode(f"{i}", 0, "e", arm, i, i, (), (), "terminated", r, "") for i, r in enumerate(returns))
    return Group("e", arm, tuple(episodes))


def test_rounds():
    assert allocation(14, start_episodes=6).rounds() == [range(6), range(6, 10), range(10, 14)]
    assert allocation(10, start_episodes=4).rounds() == [range(4), range(4, 8), range(8, 10)]
    assert Allocation(PlaySection(), RewardSection(), 16).rounds() == [range(16)]
    assert allocation(3).rounds() == [range(3)]


def test_one_arm_stops_without_variety():
    rule = allocation()
    nan = math.nan
    assert rule.decided([(nan, 0.5)] * 4, paired=False)
    assert not rule.decided([(nan, 0.5), (nan, 1.0)], paired=False)
    assert not rule.decided([(nan, nan)] * 4, paired=False)


def test_both_arms_stop_when_the_reward_is_known():
    # nothing solved: w in 0.5/(n+1) +- its error, regret 0 +- 1/(n+1); at n = 6 regret still may earn 0.4 * 0.95
    hopeless = [(0.0, 0.0)]
    assert not allocation().decided(hopeless * 6, paired=True)
    assert allocation().decided(hopeless * 10, paired=True)
    # regret 1 earns full marks whatever happens, but the plateau of a return near 0 does not matter either
    assert allocation().decided([(1.0, 0.0)] * 10, paired=True)
    # half solved, no regret: anything may be
    assert not allocation().decided([(1.0, 1.0), (0.0, 0.0)] * 4, paired=True)


def known(seeds):
    return Evidence("maths", Interval(0.0), 0.0, (0.0,), tuple(seeds))


def test_later_cycles_play_where_it_changes_the_reward():
    rule = Allocation(PlaySection(allocation="adaptive", episodes=16, tolerance=0.2), RewardSection(), 16, window=4)
    assert rule.later(known([0.0] * 14)) == rule.later(known([1.0] * 14)) == 2
    # 7 of 14: the mean may lie on a slope of the plateau; 40 of 80: it is well inside
    assert rule.later(known([1.0, 0.0] * 7)) > 10 > rule.later(known([1.0, 0.0] * 40))
    # on a slope, where a point of return is worth 2.4 of reward: 2.4 sqrt(0.21 / (4 n)) <= 0.1 has no n below 16
    assert rule.later(known([0.0] * 70 + [1.0] * 30)) == 16


def test_the_window_shares_what_later_cycles_need():
    play = PlaySection(allocation="adaptive", episodes=64, tolerance=0.2)
    counts = [
        Allocation(play, RewardSection(), 64, window).later(known([0.0] * 700 + [1.0] * 300)) for window in (3, 4, 6)
    ]
    assert [count * window for count, window in zip(counts, (3, 4, 6), strict=True)] == pytest.approx([121] * 3, abs=6)


def test_nothing_known_and_nothing_adaptive_play_in_full():
    assert allocation().later(known([])) == 16
    assert Allocation(PlaySection(), RewardSection(), 16, window=4).later(known([0.0] * 14)) == 16
    seeds = PlaySection(allocation="adaptive", episodes=16, plays_per_seed=4, start_episodes=8)
    assert Allocation(seeds, RewardSection(), 16, window=4).later(known([0.0] * 14)) == 8  # two seeds


def test_undecided_environments_go_on():
    arms = {"a": {"unhinted": group("unhinted", [0.0] * 4)}, "b": {"unhinted": group("unhinted", [0.0, 1.0])}}
    assert allocation().undecided(arms) == {"b"}


def test_what_was_not_stopped_counts_alike():
    fixed = Allocation(PlaySection(), RewardSection(), 16)
    arms = {"unhinted": group("unhinted", [0.0, 1.0] * 8)}
    assert fixed.weights(arms) is None
    assert allocation().weights({"unhinted": group("unhinted", [0.0, 1.0, 0.0, 0.0])}) is None


def test_weights_by_hand():
    # two looked at first, four in all, one win: of the orders that go on at the look, the win stands among the first
    # two in all, so it weighs 1/2 and each of the others 1/6
    rule = allocation(4, start_episodes=2, batch_episodes=2)
    weights = rule.weights({"unhinted": group("unhinted", [1.0, 0.0, 0.0, 0.0])})
    assert weights[0] == pytest.approx(0.5)
    assert [weights[i] for i in (1, 2, 3)] == pytest.approx([1 / 6] * 3, abs=0.06)
    assert sum(weights.values()) == pytest.approx(1.0)


def test_estimates_are_unbiased_over_all_outcomes():
    # every outcome of four plays, weighed by its probability at a win rate of 0.2
    rule, rate = allocation(4, start_episodes=2, batch_episodes=2), 0.2
    found = naive = 0.0
    for outcome in itertools.product((0.0, 1.0), repeat=4):
        seen = outcome[:2] if rule.decided([(math.nan, r) for r in outcome[:2]], paired=False) else outcome
        arms = {"unhinted": group("unhinted", seen)}
        chance = math.prod(rate if r else 1 - rate for r in outcome)
        found += chance * estimate(arms, rule.weights(arms)).unhinted_return
        naive += chance * sum(seen) / len(seen)
    assert found == pytest.approx(rate, abs=2e-3)
    assert abs(naive - rate) > 0.01


def test_the_config_refuses_what_does_not_fit():
    for play in (
        {"allocation": "adaptive", "hinted_episodes": 8},
        {"plays_per_seed": 3},
        {"plays_per_seed": 4, "allocation": "adaptive", "start_episodes": 6},
    ):
        with pytest.raises(ValueError, match=r"play\."):
            RunConfig.model_validate({"play": play})
    with pytest.raises(ValueError, match="plays_per_seed above 1"):
        RunConfig.model_validate({"reward": {"plateau": {"per_seed": True}}})
