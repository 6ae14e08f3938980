"""Draws from a fixed pool: with and without replacement, seeded, across a restart."""

import json

import pytest

from spadework.selfplay.pool.fixed import FixedPool
from spadework.types import Environment


def environments(n):
    return [Environment(f"e{i}", f"source {i}", "hint", "skill", "games", "d", 0, 0) for i in range(n)]


def drawn(pool, cycles):
    return [[environment.id for environment in pool.draw(cycle)] for cycle in cycles]


def test_without_replacement_the_whole_pool_comes_before_any_comes_again():
    rounds = drawn(FixedPool(environments(10), 4, False, 0), range(5))
    flat = [name for round_ in rounds for name in round_]
    assert len(set(flat[:10])) == len(set(flat[10:])) == 10
    assert all(len(set(round_)) == 4 for round_ in rounds)
    assert flat[:10] != flat[10:]


def test_with_replacement_a_cycle_is_drawn_alone():
    pool = FixedPool(environments(10), 4, True, 0)
    rounds = drawn(pool, range(30))
    assert all(len(set(round_)) == 4 for round_ in rounds)
    assert len({name for round_ in rounds[:3] for name in round_}) < 12
    assert drawn(FixedPool(environments(10), 4, True, 0), [17]) == [rounds[17]]


@pytest.mark.parametrize("replacement", [True, False])
def test_the_seed_alone_decides(replacement):
    one, same, other = (drawn(FixedPool(environments(10), 3, replacement, seed), range(8)) for seed in (1, 1, 2))
    assert one == same
    assert one != other


@pytest.mark.parametrize("replacement", [True, False])
def test_a_restart_changes_nothing(replacement):
    unbroken = drawn(FixedPool(environments(7), 3, replacement, 5), range(9))
    before, after = (FixedPool(environments(7), 3, replacement, 5) for _ in range(2))
    first = drawn(before, range(4))
    after.load_state_dict(json.loads(json.dumps(before.state_dict())))
    assert [*first, *drawn(after, range(4, 9))] == unbroken
    assert after.metrics() == {"pool/deck": float(len(after.state_dict()["deck"])), "pool/retired": 0.0}


@pytest.mark.parametrize("replacement", [True, False])
def test_what_is_retired_is_not_drawn_even_after_a_restart(replacement):
    before, after = (FixedPool(environments(8), 3, replacement, 5) for _ in range(2))
    before.draw(0)
    before.retire({"e1", "e4", "no such"})
    after.load_state_dict(json.loads(json.dumps(before.state_dict())))
    assert after.metrics()["pool/retired"] == 2.0
    rounds = drawn(after, range(1, 20))
    assert rounds == drawn(before, range(1, 20))
    assert {name for round_ in rounds for name in round_} == {"e0", "e2", "e3", "e5", "e6", "e7"}


def test_the_longest_retired_come_back_while_a_draw_needs_them():
    pool = FixedPool(environments(5), 3, False, 0)
    pool.retire({"e1", "e4"})
    pool.retire({"e2"})
    assert pool.state_dict()["retired"] == ["e4", "e2"]
    assert {name for round_ in drawn(pool, range(4)) for name in round_} == {"e0", "e1", "e3"}


def test_what_left_the_pool_is_left_out_of_the_deck():
    pool = FixedPool(environments(5), 2, False, 0)
    pool.load_state_dict({"deck": ["gone", "e1", "e2"], "shuffles": 1})
    assert drawn(pool, [0]) == [["e1", "e2"]]


def test_more_than_all_cannot_be_drawn():
    with pytest.raises(ValueError, match="6"):
        FixedPool(environments(5), 6, False, 0)
