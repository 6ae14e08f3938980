"""Learning potential (Eq. 4 to 6): once a scoring round, over designed environments alone, in whatever order."""

import itertools
import json
import math

import pytest

from spadework.config import RunConfig
from spadework.intervals import Interval
from spadework.selfplay.records import Evidence
from spadework.selfplay.score.ledger import Ledger
from spadework.selfplay.score.scoring import Scoring
from spadework.selfplay.score.skills import SkillAverages, moving_average
from spadework.types import Design, Episode, Group, Segment

SEGMENT = Segment((1, 2), (False, True), (0.0, -1.0), 0)


def seen(value, skill="maths"):
    return Evidence(skill, Interval(0.0), value, (value,))


def test_moving_average():
    assert math.isnan(moving_average((), 0.85))
    assert moving_average((0.5,), 0.85) == 0.5
    assert moving_average((0.5, 1.0), 0.85) == pytest.approx(0.15 * 0.5 + 0.85)
    assert moving_average((0.5, 1.0, 0.0), 0.85) == pytest.approx(0.15 * 0.925)


def test_a_round_is_one_step_whatever_its_order():
    returns = [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]
    for order in (returns, returns[::-1], [0.0, 1.0] * 4):
        averages = SkillAverages()
        averages.add_round(map(seen, order))
        assert averages.of("maths") == (0.5,)
        assert averages.metrics(0.98, 0.85) == {"skill/maths/fast_average": 0.5, "skill/maths/learning_potential": 0.0}


def test_skills_are_apart_and_what_was_not_played_is_left_out():
    averages = SkillAverages()
    averages.add_round([seen(0.2), seen(0.6), seen(1.0, "space"), Evidence("maths", Interval(0.0), math.nan, ())])
    averages.add_round([Evidence("space", Interval(0.0), math.nan, (0.5,))])  # faults took its design cycle alone
    assert averages.of("maths") == (pytest.approx(0.4),)
    assert averages.of("space") == (1.0, 0.5)
    assert averages.of("logic") == ()
    metrics = averages.metrics(0.98, 0.85)
    assert metrics["skill/space/fast_average"] == pytest.approx(0.02 + 0.49)
    assert metrics["skill/space/learning_potential"] == pytest.approx(0.575 - 0.51)


def test_a_restart_changes_nothing_and_the_averages_of_0_1_are_begun_anew():
    averages, again = SkillAverages(), SkillAverages()
    averages.add_round([seen(0.25), seen(1.0, "space")])
    again.load_state_dict(json.loads(json.dumps(averages.state_dict())))
    assert again.of("maths") == averages.of("maths") and again.state_dict() == averages.state_dict()
    again.load_state_dict({"fast": {"maths": 0.4}, "slow": {"maths": 0.5}})
    assert again.of("maths") == ()


def design(cycle, name, skill="maths"):
    return Design(f"{cycle}-{name}", cycle, 0, 0, skill, "", (), "", "", "", (SEGMENT,), (), environment_id=name)


def group(cycle, name, *returns):
    episodes = [
        Episode(f"{cycle}/{name}/{i}", cycle, name, "unhinted", i, i, (), (SEGMENT,), "terminated", value)
        for i, value in enumerate(returns)
    ]
    return Group(name, "unhinted", tuple(episodes))


def scored(returns, *, also=()):
    """Raw rewards by environment, and the scoring, of one design cycle with a window of two cycles."""
    config = RunConfig.model_validate(
        {"run": {"cycles": 9}, "designer": {"every": 2}, "reward": {"type": "learning_potential"}}
    )
    scoring = Scoring(config, Ledger(2, 2), SkillAverages())
    scoring.cycle(0, [design(0, name) for name in returns], [group(0, n, *r[0]) for n, r in returns.items()] + [*also])
    scoring.cycle(1, [], [group(1, name, *r[1]) for name, r in returns.items()])
    due = scoring.cycle(2, [], [])
    return {score.design_id: score for score in due.scores}, due, scoring


def test_the_worked_example_through_the_whole_scoring():
    # eight environments; the mean over the window is 0 for four of them and 1 for the others: mu_slow = 0.5 for all
    returns = {f"e{i}": ([float(i > 3)] * 2, [float(i > 3)] * 2) for i in range(8)}
    for order in (list(returns), list(returns)[::-1]):
        scores, due, _ = scored({name: returns[name] for name in order})
        assert [scores[f"0-{name}"].raw for name in returns] == [0.5] * 8
        assert [score.reward for score in due.scores] == [0.0] * 8
        assert due.metrics["skill/maths/fast_average"] == 0.5


def test_the_return_is_that_of_the_whole_window():
    # design cycle 0, next one 1: 0.5; and 0.5 twice: 0.5
    scores, _, scoring = scored({"a": ([0.0], [1.0]), "b": ([1.0], [0.5])})
    assert scoring.averages.of("maths") == (0.625,)
    assert scores["0-a"].raw == pytest.approx(0.125)
    assert scores["0-b"].raw == pytest.approx(0.125)


def test_environments_that_nobody_designed_change_nothing():
    returns = {"a": ([0.0], [1.0]), "b": ([1.0], [1.0])}
    plain, with_anchor = scored(returns)[0], scored(returns, also=[group(0, "anchor", 0.0, 0.0)])[0]
    assert [score.raw for score in plain.values()] == [score.raw for score in with_anchor.values()]


def test_later_rounds_are_compared_with_earlier_ones():
    config = RunConfig.model_validate(
        {"run": {"cycles": 9}, "designer": {"every": 1}, "reward": {"type": "learning_potential"}}
    )
    scoring, raws = Scoring(config, Ledger(0, 1), SkillAverages()), []
    for cycle, mean in enumerate((0.2, 0.8)):
        own = {f"{cycle}low": mean - 0.1, f"{cycle}high": mean + 0.1}
        result = scoring.cycle(
            cycle, [design(cycle, name) for name in own], [group(cycle, name, value) for name, value in own.items()]
        )
        raws.append([score.raw for score in result.scores])
    slow = 0.15 * 0.2 + 0.85 * 0.8
    assert list(itertools.chain(*raws)) == pytest.approx([0.1, 0.1, abs(0.7 - slow), abs(0.9 - slow)])
