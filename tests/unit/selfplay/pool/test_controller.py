"""Windows of levels: when they move, how levels are drawn, and what outlives a restart."""

import json
import random
from collections import Counter

import pytest

from spadework.config import DifficultySection
from spadework.selfplay.pool.controller import Controller, Span


def controller(names=("a",), span=None, **settings):
    made = Controller(DifficultySection(controller="sliding_window", **settings))
    for name in names:
        made.add(name, span or Span())
    return made


def levels(made, name="a"):
    return list(made.window(name).levels)


def test_promoted_at_exactly_128_tries_with_nine_in_ten_won():
    made = controller()
    for _ in range(7):
        assert not made.learn("a", 0, 16, 16, 1.0)
    assert not made.learn("a", 0, 15, 15, 1.0)
    assert levels(made) == [0]
    assert made.learn("a", 0, 1, 1, 1.0)
    assert levels(made) == [0, 1]
    assert made.metrics()["difficulty/promotions"] == 1.0


@pytest.mark.parametrize(("wins", "promoted"), [(115, False), (116, True)])
def test_nine_in_ten_of_128_are_116(wins, promoted):
    assert controller().learn("a", 0, wins, 128, wins / 128) is promoted


def test_a_look_that_holds_starts_counting_anew():
    made = controller()
    assert not made.learn("a", 0, 100, 128, 0.8)
    assert (made.window("a").tries, made.window("a").wins) == (0, 0)
    assert not made.learn("a", 0, 127, 127, 1.0)
    assert made.learn("a", 0, 1, 1, 1.0)


def test_only_the_top_level_counts():
    made = controller(tries=4)
    made.learn("a", 0, 4, 4, 1.0)
    assert levels(made) == [0, 1]
    assert not made.learn("a", 0, 400, 400, 1.0)
    assert made.window("a").tries == 0


def test_the_window_slides_at_its_width_and_stops_at_the_cap():
    made = controller(tries=2, cap=6)
    seen = []
    for _ in range(9):
        made.learn("a", made.window("a").high, 2, 2, 1.0)
        seen.append(levels(made))
    assert seen[:5] == [[0, 1], [0, 1, 2], [0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5]]
    assert seen[5:] == [[3, 4, 5, 6]] * 4


def test_an_environments_own_top_is_below_the_cap():
    made = controller(span=Span(1, 2), tries=1)
    assert levels(made) == [1]
    assert made.learn("a", 1, 1, 1, 1.0)
    assert not made.learn("a", 2, 1, 1, 1.0)
    assert levels(made) == [1, 2]


def test_draws_are_uniform_over_environments_and_their_levels():
    made = controller(("a", "b"), tries=1)
    for level in range(3):
        made.learn("a", level, 1, 1, 1.0)
    rng = random.Random(0)
    counts = Counter(made.draw(rng) for _ in range(8_000))
    assert set(counts) == {("a", 0), ("a", 1), ("a", 2), ("a", 3), ("b", 0)}
    assert counts["b", 0] == pytest.approx(4_000, rel=0.06)
    assert all(counts["a", level] == pytest.approx(1_000, rel=0.12) for level in range(4))


def test_learning_potential_draws_what_moves():
    made = Controller(DifficultySection(controller="learning_potential", explore=0.2))
    for name in "abc":
        made.add(name, Span())
    for name, before, now in (("a", 0.0, 0.0), ("b", 0.2, 0.6), ("c", 0.9, 0.8)):
        made.learn(name, 0, 0, 16, before)
        made.learn(name, 0, 0, 16, now)
    # |mu_fast - mu_slow| is (0.35 - 0.15) of the step: 0, 0.08 and 0.02; a fifth of the draws is uniform
    assert made.state_dict()["potential"] == pytest.approx({"a/0": 0.0, "b/0": 0.08, "c/0": 0.02})
    rng = random.Random(0)
    counts = Counter(made.draw(rng)[0] for _ in range(8_000))
    shares = {name: count / 8_000 for name, count in counts.items()}
    assert shares == pytest.approx({"a": 0.2 / 3, "b": 0.2 / 3 + 0.8 * 0.8, "c": 0.2 / 3 + 0.8 * 0.2}, abs=0.02)


def test_a_level_that_was_never_played_has_full_potential():
    made = Controller(DifficultySection(controller="learning_potential", explore=0.0))
    made.add("a", Span())
    made.add("b", Span())
    for _ in range(2):
        made.learn("a", 0, 0, 16, 0.5)
    assert {made.draw(random.Random(seed))[0] for seed in range(20)} == {"b"}


def test_faults_alone_teach_nothing():
    made = controller(tries=1)
    assert not made.learn("a", 0, 0, 0, float("nan"))
    assert made.state_dict()["averages"] == {"fast": {}, "slow": {}}


def test_a_restart_changes_nothing():
    made, again = controller(("a", "b"), tries=20), controller(("a", "b"), tries=20)
    made.learn("a", 0, 20, 20, 1.0)
    made.learn("a", 1, 7, 8, 0.9)
    again.load_state_dict(json.loads(json.dumps(made.state_dict())))
    assert again.state_dict() == made.state_dict()
    for one in (made, again):
        assert one.learn("a", 1, 12, 12, 1.0)
        assert levels(one) == [0, 1, 2]
