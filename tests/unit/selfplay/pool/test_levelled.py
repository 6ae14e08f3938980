"""A pool with levels: what is drawn, under which name, and that what was won comes back to the right level."""

import json

from spadework.config import DifficultySection
from spadework.selfplay.pool.controller import Controller
from spadework.selfplay.pool.levelled import LevelledPool
from spadework.types import Environment, Episode, Group

LEVELLED = "class AEnv:\n    max_difficulty = 2\n    def __init__(self, difficulty=0): ...\n"
PLAIN = "class BEnv:\n    def __init__(self): ...\n"


def pool(per_cycle=3, **settings):
    environments = [
        Environment(name, source, "", "skill", "games", "d", 0, 0) for name, source in (("a", LEVELLED), ("b", PLAIN))
    ]
    section = DifficultySection(controller="sliding_window", tries=4, **settings)
    return LevelledPool(environments, per_cycle, Controller(section), 0)


def group(name, returns, arm="unhinted"):
    episodes = [Episode(str(i), 0, name, arm, i, 0, (), (), "terminated", value) for i, value in enumerate(returns)]
    return Group(name, arm, tuple(episodes))


def test_repeats_of_a_cycle_have_names_of_their_own_and_plain_programs_no_level():
    drawn = pool(8).draw(0)
    names = [environment.id for environment in drawn]
    assert len(set(names)) == 8
    assert {name.split("-")[0] for name in names} == {"a", "b"}
    assert all(environment.source == PLAIN for environment in drawn if environment.id.startswith("b"))
    assert all(environment.source.endswith("DIFFICULTY = 0\n") for environment in drawn if environment.id[0] == "a")
    assert {"a-d0", "a-d0-2", "b", "b-2"} <= set(names)


def test_wins_of_all_repeats_count_and_hinted_ones_do_not():
    made = pool(8)
    made.draw(0)
    made.learn([group("a-d0", [1.0, 1.0]), group("a-d0-2", [1.0, 1.0], "hinted"), group("b", [1.0] * 9)])
    assert made.controller.window("a").high == 0
    made.learn([group("a-d0-2", [1.0, 1.0])])
    assert made.controller.window("a").high == 1
    assert made.controller.window("b").high == 0
    assert made.metrics()["difficulty/top_max"] == 1.0


def test_a_restart_draws_the_same_and_forgets_what_left_the_pool():
    made, again = pool(), pool()
    made.draw(0)
    made.learn([group("a-d0", [1.0] * 4)])
    state = json.loads(json.dumps(made.state_dict()))
    state["windows"]["gone"] = {"low": 0, "high": 5, "tries": 0, "wins": 0}
    again.load_state_dict(state)
    assert [made.draw(cycle) for cycle in range(1, 9)] == [again.draw(cycle) for cycle in range(1, 9)]
    assert "gone" not in again.controller
