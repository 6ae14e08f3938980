"""Which past environments a prompt shows (method section 3)."""

import json
import math
import random

from spadework.selfplay.design.memory import Memory, Remembered


def entry(name, win_rate=0.5, regret=0.1, skill="s", source=None):
    return Remembered(name, source or f"program {name}", skill, "doc", 0, win_rate, regret)


def names(examples):
    return {(example.environment_id, example.label) for example in examples}


def draw(memory, positive=2, negative=1, skill="s", seed=0, fits=lambda source: True):
    return memory.examples(skill, random.Random(seed), positive, negative, fits)


def test_good_examples_come_from_the_top_by_regret_in_the_middle_band():
    memory = Memory()
    for i in range(30):
        memory.remember(entry(f"e{i}", regret=i / 100))
    memory.remember(entry("easy", win_rate=0.95, regret=9.0))
    memory.remember(entry("other", regret=9.0, skill="t"))
    drawn = {example.environment_id for seed in range(200) for example in draw(memory, negative=0, seed=seed)}
    assert drawn == {f"e{i}" for i in range(20, 30)}


def test_bad_examples_are_named_for_what_is_wrong_with_them():
    memory = Memory()
    memory.remember(entry("easy", win_rate=0.95))
    assert names(draw(memory)) == {("easy", "too easy")}
    memory.remember(entry("easy", win_rate=0.05))
    assert names(draw(memory)) == {("easy", "too hard")}
    memory.remember(entry("easy", win_rate=0.12))
    assert names(draw(memory)) == set()


def test_whole_programs_or_none():
    memory = Memory()
    memory.remember(entry("long", source="x" * 100))
    memory.remember(entry("short", source="x"))
    assert names(draw(memory, fits=lambda source: len(source) < 50)) == {("short", "good")}


def test_an_unknown_regret_counts_as_none():
    memory = Memory()
    for name, regret in [("a", -0.5), ("b", math.nan), *((f"c{i}", 0.5) for i in range(9))]:
        memory.remember(entry(name, regret=regret))
    drawn = {name for seed in range(40) for name, _ in names(draw(memory, seed=seed))}
    assert "b" in drawn
    assert "a" not in drawn


def test_the_oldest_leave_and_an_update_keeps_its_place():
    memory = Memory(size=2)
    for name in ("a", "b"):
        memory.remember(entry(name))
    memory.remember(entry("a", regret=0.7))
    assert memory.regret_of("a") == 0.7
    memory.remember(entry("c"))
    assert [e.environment_id for e in memory.entries] == ["b", "c"]
    assert math.isnan(memory.regret_of("a"))


def test_state_round_trip():
    memory = Memory()
    memory.remember(entry("a", win_rate=1 / 3))
    other = Memory()
    other.load_state_dict(json.loads(json.dumps(memory.state_dict())))
    assert other.entries == memory.entries


def test_what_left_play_can_be_played_again_without_its_hint():
    memory = Memory()
    for name in "abcd":
        memory.remember(entry(name, win_rate=0.75))
    past = memory.draw_past(3, {"a", "b"}, random.Random(0))
    assert {one.environment_id for one in past} == {"c", "d"}
    again = past[0].environment("games")
    assert (again.id, again.source, again.hint) == (past[0].environment_id, past[0].source, "")
    assert memory.win_rate_of("c") == 0.75 and math.isnan(memory.win_rate_of("z"))
