"""Slots, anchors and freshness."""

import dataclasses
import json

from spadework.selfplay.pool.pool import Pool
from spadework.types import Environment


def environment(name):
    return Environment(name, f"program {name}", "hint", "s", "games", "doc", 0, 0, ("p",), "d")


def test_a_slot_keeps_what_it_had_and_new_ones_are_fresh_once():
    pool = Pool(2, [environment("anchor")])
    assert pool.empty_slots() == (0, 1)
    pool.fill(1, environment("a"))
    assert [e.id for e in pool.environments] == ["anchor", "a"]
    assert all(pool.is_fresh(e) for e in pool.environments)
    pool.mark_played()
    assert not any(pool.is_fresh(e) for e in pool.environments)
    pool.fill(0, environment("b"))
    assert [pool.is_fresh(e) for e in pool.environments] == [False, True, False]


def test_state_round_trip():
    pool = Pool(2, [environment("anchor")])
    pool.fill(0, environment("a"))
    other = Pool(2, [environment("anchor")])
    other.load_state_dict(json.loads(json.dumps(pool.state_dict())))
    assert other.environments == pool.environments
    assert other.is_fresh(environment("a"))


def test_without_a_hint_there_is_no_hinted_arm_to_play():
    pool = Pool(1)
    pool.fill(0, dataclasses.replace(environment("a"), hint=""))
    assert not pool.is_fresh(pool.environments[0])


def test_retired_environments_leave_their_slots_and_anchors_stay():
    pool = Pool(2, [environment("anchor")])
    pool.fill(0, environment("a"))
    pool.fill(1, environment("b"))
    pool.retire({"a", "anchor"})
    assert [one.id for one in pool.environments] == ["anchor", "b"]
    assert pool.empty_slots() == (0,)
