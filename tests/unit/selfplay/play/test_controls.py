"""Control arms: which texts stand in the hint's place, and that nothing of them is paid or trained."""

from __future__ import annotations

import math

import pytest

from spadework.config import RunConfig
from spadework.envs.sandbox.base import Limits
from spadework.selfplay.play.controls import control_plays, placebos
from spadework.selfplay.play.plan import plan_plays
from spadework.selfplay.score.ledger import Ledger
from spadework.selfplay.score.scoring import Scoring
from spadework.selfplay.score.skills import SkillAverages
from spadework.selfplay.summary import summarise
from spadework.types import Environment, Episode, Fault, Group, Segment, Turn

ARMS = ("placebo", "answer_only")
MUTE = "class MuteEnv:\n    def reset(self, seed=None):\n        return 'x'\n    def step(self, action):\n        return 'x', 0.0, True, False, {}\n"


def environment(name, source, hint="count"):
    return Environment(name, source, hint, "s", "games", "d", 0, 0)


async def test_every_control_has_the_seeds_of_the_hinted_arm_and_a_text_of_its_own(sandbox, game):
    pool = [environment("a", game, "divide"), environment("b", MUTE, "say x")]
    plays = plan_plays(pool, lambda one: True, 3, 7, (2, 2))
    controls = await control_plays(sandbox, plays, ARMS, Limits(), 7)
    seeds = {(p.environment.id, p.index): p.seed for p in plays if p.arm == "hinted"}
    assert [(p.arm, p.environment.id, p.index) for p in controls] == [
        *(("placebo", name, index) for name in "ab" for index in (0, 1)),
        *(("answer_only", "a", index) for index in (0, 1)),
    ], "a program without solution() has no answer to show"
    assert all(p.seed == seeds[p.environment.id, p.index] for p in controls)
    assert {p.environment.id: p.hint for p in controls if p.arm == "placebo"} == {"a": "say x", "b": "divide"}
    answers = [p.hint for p in controls if p.arm == "answer_only"]
    assert all("\\boxed{" in text for text in answers)
    assert answers[0] != answers[1]
    assert len({p.key for p in [*plays, *controls]}) == len({p.id for p in [*plays, *controls]}) == 14


async def test_without_control_arms_nothing_is_opened(game):
    plays = plan_plays([environment("a", game)], lambda one: True, 0, 0, (1, 1))
    assert await control_plays(None, plays, (), Limits(), 0) == []
    assert placebos(plays, 0) == {}, "nobody lends a hint"


def group(arm, *returns, hung=False):
    segment = Segment((1, 2), (False, True), (0.0, -1.0), 0)
    fault = Fault("program", "ENV205", "hung")
    episodes = [
        Episode(f"{arm}{i}", 0, "e", arm, i, i, (Turn("o", "r", "a", 0.0),), (segment,), "terminated", value)
        for i, value in enumerate(returns)
    ]
    if hung:
        episodes.append(Episode(f"{arm}x", 0, "e", arm, 9, 9, (), (), "fault", math.nan, "", fault))
    return Group("e", arm, tuple(episodes))


def scored(groups):
    config = RunConfig.model_validate({"agent": {"train_hinted": True}})
    scoring = Scoring(config, Ledger(4, 4), SkillAverages())
    return scoring.cycle(0, [], groups), scoring.averages.state_dict()


def summary(groups):
    return summarise([], [episode for one in groups for episode in one.episodes], groups, scored(groups)[0], {})


PLAYED = [group("unhinted", 0.0, 0.0, 1.0), group("hinted", 1.0, 1.0, 0.0)]


def test_controls_change_nothing_that_is_paid_or_trained():
    controls = [group("placebo", 0.0, 1.0, hung=True), group("answer_only", 1.0, 0.0)]
    (with_controls, averages), (without, expected) = scored([*PLAYED, *controls]), scored(PLAYED)
    assert (with_controls.agent, with_controls.scores, averages) == (without.agent, without.scores, expected)
    assert {row.group_id.rsplit("/")[-1] for row in with_controls.agent} == {"unhinted", "hinted"}


def test_controls_are_reported_beside_regret_and_move_nothing_else():
    metrics, without = summary([*PLAYED, group("placebo", 0.0, 0.0, 0.0, 1.0)]), summary(PLAYED)
    assert metrics.pop("control/placebo_win_rate") == pytest.approx(0.25)
    assert metrics.pop("control/placebo_regret") == pytest.approx(2 / 3 - 0.25)
    counted = ("agent/episodes", "tokens/sampled")
    assert {name: value for name, value in metrics.items() if name not in counted} == {
        name: value for name, value in without.items() if name not in counted
    }


def test_reward_levels_are_those_of_the_unhinted_arm():
    assert summary(PLAYED)["pool/reward_levels"] == 2
    assert summary([group("unhinted", 0.0, 0.3, 0.1 + 0.2), group("hinted", 1.0, 0.5)])["pool/reward_levels"] == 2
    assert "pool/reward_levels" not in summary([group("hinted", 1.0)])
