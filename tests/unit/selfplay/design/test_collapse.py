"""The collapse alarm, and the structure that it looks at."""

import json
import math

from spadework.config import DesignerSection
from spadework.selfplay.design.collapse import CollapseAlarm, largest_structure_share
from spadework.types import Design, Fault


def design(source, fault=None):
    return Design("0-0-0", 0, 0, 0, "s", "", (), "", "", source, (), (), fault=fault)


def alarm(vendi=0.5, **settings):
    return CollapseAlarm(DesignerSection(**settings), lambda texts: vendi)


def different(n):
    return [design("\n".join(["x = 1"] * (i + 1))) for i in range(n)]


def test_structure_is_what_is_left_without_names_texts_and_numbers():
    same = ["x = 1\n", "y = 2  # two\n", "z=3"]
    assert largest_structure_share([*same, "x = [1]"]) == 0.75
    assert largest_structure_share(["x = 1", "f(1)"]) == 0.5
    assert math.isnan(largest_structure_share([]))


def test_one_structure_in_more_than_a_third():
    copies = [design(f"x = {i}") for i in range(4)]
    metrics, lines = alarm().look([*different(9)[1:], *copies])
    assert metrics == {"designer/largest_structure_share": 4 / 12, "designer/vendi": 0.5}
    assert lines == []
    watch = alarm()
    assert watch.look(different(9)[1:])[1] == []
    assert "one structure" in watch.look([*copies, design("y = 7")])[1][0]


def test_low_vendi_and_few_designs():
    assert alarm(0.05).look(different(7))[1] == []
    (line,) = alarm(0.05).look(different(8))[1]
    assert "as diverse as 0.4" in line


def test_only_the_last_ones_count_and_a_cycle_without_designs_says_nothing():
    watch = alarm(recent=8)
    watch.look([design(f"x = {i}") for i in range(8)])
    assert watch.look([]) == ({}, [])
    assert watch.look([design("x = 1", Fault("endpoint", "X", "y")), design("")]) == ({}, [])
    assert watch.look(different(9)[1:])[0]["designer/largest_structure_share"] == 1 / 8


def test_state_survives_json():
    watch, other = alarm(), alarm()
    watch.look(different(5))
    other.load_state_dict(json.loads(json.dumps(watch.state_dict())))
    assert other.look(different(1)) == watch.look(different(1))
