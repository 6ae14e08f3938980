"""Designed environments that climb: the next level's program, its id, and what is forgotten."""

import json

from spadework.config import DifficultySection
from spadework.envs.levels import Levels, levels
from spadework.selfplay.pool.climber import Climber
from spadework.selfplay.pool.controller import Controller
from spadework.types import Environment, Episode, Group

PROGRAM = "class AEnv:\n    max_difficulty = 2\n    def __init__(self, difficulty=1): ...\n"
DESIGNED = Environment("e", PROGRAM, "hint", "skill", "games", "d", 0, 0)
PLAIN = Environment("p", "class BEnv: ...", "hint", "skill", "games", "d", 0, 0)


def climber():
    section = DifficultySection(controller="sliding_window", tries=4)
    return Climber(Controller(section))


def group(environment, wins, of=4, arm="unhinted"):
    values = [1.0] * wins + [0.0] * (of - wins)
    episodes = [
        Episode(str(i), 0, environment.id, arm, i, 0, (), (), "terminated", value) for i, value in enumerate(values)
    ]
    return Group(environment.id, arm, tuple(episodes))


def test_what_is_won_climbs_to_its_own_top_and_no_further():
    made = climber()
    assert made.climb([DESIGNED, PLAIN], [group(DESIGNED, 3), group(PLAIN, 4)], 0) == {}
    assert made.rising == {"e"}
    assert made.climb([DESIGNED], [group(DESIGNED, 4, arm="hinted")], 0) == {}
    climbed = made.climb([DESIGNED, PLAIN], [group(DESIGNED, 4), group(PLAIN, 4)], 1)
    higher = climbed.pop("e")
    assert not climbed
    assert (higher.id, higher.cycle, higher.hint) == ("e-d2", 1, "hint")
    assert levels(higher.source) == Levels(2, 2)
    assert made.climb([higher], [group(higher, 4)], 2) == {}
    assert made.rising == frozenset()


def test_counts_outlive_a_restart_and_what_left_is_forgotten():
    made, again = climber(), climber()
    made.climb([DESIGNED], [group(DESIGNED, 2, of=2)], 0)
    again.load_state_dict(json.loads(json.dumps(made.state_dict())))
    assert again.climb([DESIGNED], [group(DESIGNED, 2, of=2)], 1)["e"].id == "e-d2"
    again.climb([PLAIN], [], 2)
    assert again.state_dict()["windows"] == again.state_dict()["averages"]["slow"] == {}
