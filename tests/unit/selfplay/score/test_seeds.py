"""What both arms say seed by seed, by hand."""

import math

import pytest

from spadework.intervals import t_interval
from spadework.selfplay.score.seeds import estimate, paired_regret, seed_means, seed_spread
from spadework.types import Episode, Fault, Group

FAULT = Fault("program", "ENV205", "hung")


def group(arm, returns, faulty=(), seeds=None):
    episodes = tuple(
        Episode(f"{arm}{i}", 0, "e", arm, i, seed, (), (), "terminated", value, "", FAULT if i in faulty else None)
        for i, (value, seed) in enumerate(zip(returns, seeds or range(len(returns)), strict=True))
    )
    return Group("e", arm, episodes)


def arms(hinted, unhinted, **more):
    return {"hinted": group("hinted", hinted, **more), "unhinted": group("unhinted", unhinted, **more)}


def test_only_seeds_that_both_arms_played_without_a_fault_are_paired():
    played = {"hinted": group("hinted", [1.0, 1.0, 1.0], {0}), "unhinted": group("unhinted", [0.0, 0.0, 1.0, 1.0])}
    assert paired_regret(played).mean == 0.5
    assert paired_regret(played) == t_interval([1.0, 0.0])


def test_regret_may_be_negative():
    found = paired_regret(arms([0.0, 0.5, 0.0], [1.0, 0.5, 0.5]))
    assert found == t_interval([-1.0, 0.0, -0.5])
    assert found.mean == -0.5


def test_one_arm_gives_no_regret():
    assert math.isnan(paired_regret({"unhinted": group("unhinted", [1.0])}).mean)
    assert math.isnan(estimate({}).unhinted_return)


def test_arms_on_other_seeds_are_compared_as_strangers():
    played = {"hinted": group("hinted", [1.0, 1.0, 0.0]), "unhinted": group("unhinted", [0.0, 1.0], seeds=[7, 8])}
    found = paired_regret(played)
    assert found.mean == pytest.approx(2 / 3 - 0.5)
    assert found.low < 0 < found.high


def test_plays_of_one_seed_count_once():
    played = arms([1.0, 1.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0], seeds=[3, 3, 5, 5])
    assert paired_regret(played) == t_interval([0.5, 0.5])
    assert seed_means(played["unhinted"]) == {3: 0.5, 5: 0.0}
    assert estimate(played).seed_returns == (0.5, 0.0)


def test_spread_between_seeds_is_freed_of_luck():
    # seeds always or never solved: variance of (1, 0) is 1/2, and no luck
    assert seed_spread(group("unhinted", [1, 1, 0, 0], seeds=[1, 1, 2, 2])) == pytest.approx(math.sqrt(0.5))
    # every seed a coin: means equal, nothing between them
    assert seed_spread(group("unhinted", [1, 0, 0, 1], seeds=[1, 1, 2, 2])) == 0.0
    # (1, 1) and (1, 0): variance of (1, 0.5) is 1/8; luck (0 + 1/2) / 2 / 2 = 1/8
    assert seed_spread(group("unhinted", [1, 1, 1, 0], seeds=[1, 1, 2, 2])) == pytest.approx(0.0)
    assert math.isnan(seed_spread(group("unhinted", [1, 0])))


def test_weighted_estimates():
    played = arms([1.0, 1.0], [0.0, 1.0])
    found = estimate(played, {0: 0.25, 1: 0.75})
    assert (found.unhinted_return, found.unhinted_win_rate, found.hinted_win_rate) == (0.75, 0.75, 1.0)
    assert found.regret.mean == 0.25
    assert estimate(played).unhinted_return == 0.5
