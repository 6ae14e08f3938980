"""Slots, anchors and freshness."""

import dataclasses
import json

from spadework.selfplay.pool.pool import Pool
from spadework.types import Environment


def environment(name):
    return Environment(name, f"program {name}", "hint", "s", "games", "doc", 0, 0, ("p",), "d")


def test_a_slot_keeps_what_it_had_and_new_ones_are_fresh_once():
    pool = Pool(2, [environment("anchor")])
    pool.fill(1, environment("a"), "designed")
    assert [e.id for e in pool.environments] == ["anchor", "a"]
    assert all(pool.is_fresh(e) for e in pool.environments)
    pool.mark_played()
    assert not any(pool.is_fresh(e) for e in pool.environments)
    pool.fill(0, environment("b"), "designed")
    assert [pool.is_fresh(e) for e in pool.environments] == [False, True, False]


def test_state_round_trip():
    pool = Pool(2, [environment("anchor")])
    pool.fill(0, environment("a"), "designed")
    other = Pool(2, [environment("anchor")])
    other.load_state_dict(json.loads(json.dumps(pool.state_dict())))
    assert other.environments == pool.environments
    assert other.is_fresh(environment("a"))


def test_without_a_hint_there_is_no_hinted_arm_to_play():
    pool = Pool(1)
    pool.fill(0, dataclasses.replace(environment("a"), hint=""), "designed")
    assert not pool.is_fresh(pool.environments[0])


def test_retired_environments_leave_their_slots_and_anchors_stay():
    pool = Pool(2, [environment("anchor")])
    pool.fill(0, environment("a"), "designed")
    pool.fill(1, environment("b"), "designed")
    pool.retire({"a": "mastered", "anchor": "hopeless"})
    assert [one.id for one in pool.environments] == ["anchor", "b"]
    assert pool.at(0) is None


def test_what_comes_and_goes_is_told_once():
    pool = Pool(2, [environment("anchor")])
    entered = pool.enter_anchors(3)
    assert [(one.id, one.cycle) for one in entered] == [("anchor", 3)] and pool.enter_anchors(4) == []
    pool.fill(0, environment("a"), "designed")
    pool.fill(0, environment("b"), "climbed")
    pool.fill(1, environment("c"), "drawn")
    pool.retire({"b": "mastered", "c": "failing"})
    told = [(event.environment_id, event.slot, event.entered, event.why) for event in pool.take_events()]
    assert told == [
        ("anchor", None, True, "anchor"),
        ("a", 0, True, "designed"),
        ("a", 0, False, "climbed"),
        ("b", 0, True, "climbed"),
        ("c", 1, True, "drawn"),
        ("b", 0, False, "mastered"),
        ("c", 1, False, "failing"),
    ]
    assert pool.take_events() == []


def test_anchors_of_a_changed_config_enter_when_they_come():
    pool = Pool(1, [environment("anchor")])
    pool.enter_anchors(0)
    other = Pool(1, [environment("anchor"), environment("new")])
    other.load_state_dict(json.loads(json.dumps(pool.state_dict())))
    assert [one.id for one in other.enter_anchors(5)] == ["new"]
