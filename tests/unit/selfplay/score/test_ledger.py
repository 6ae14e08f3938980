"""Delay, window and flush of held designs."""

import dataclasses
import json
import math

from spadework.intervals import Interval
from spadework.selfplay.records import Evidence, Outcome
from spadework.selfplay.score.ledger import Ledger, Observed
from spadework.types import Design, Fault, Segment


def design(name, cycle, environment="env"):
    segment = Segment((1, 2), (False, True), (0.0, -0.25), 7)
    return Design(
        name,
        cycle,
        0,
        0,
        "Optimization",
        "doc",
        ("p",),
        "prompt",
        "reply",
        "source",
        (segment,),
        (),
        environment_id=environment,
    )


def evidence():
    return Evidence("Optimization", Interval(0.25, 0.1, 0.4, 0.5, 8), 0.25, ())


def test_designs_wait_for_their_delay_and_see_only_their_window():
    ledger = Ledger(delay=2, window=2)
    ledger.hold(design("a", 0), evidence())
    for cycle, value in enumerate([0.2, 0.4]):
        ledger.observe(cycle, "env", Observed(value))
        assert ledger.due(cycle) == []
    ledger.observe(2, "env", Observed(0.9))
    (held,) = ledger.due(2)
    assert held.evidence.window == (0.2, 0.4)
    assert len(ledger) == 0


def test_it_knows_what_earlier_cycles_of_a_window_showed():
    ledger = Ledger(delay=3, window=3)
    ledger.hold(design("a", 1), evidence())
    ledger.hold(design("b", 1, environment=None), None)
    ledger.observe(1, "env", Observed(0.5, seeds=(0.0, 1.0)))
    assert ledger.known(1) == {}
    assert {name: seen.seeds for name, seen in ledger.known(2).items()} == {"env": (0.0, 1.0)}
    assert ledger.known(3).keys() == {"env"}
    assert ledger.known(4) == {}


def test_a_cycle_without_valid_episodes_leaves_the_window_and_a_hang_sticks():
    ledger = Ledger(delay=2, window=3)
    ledger.hold(design("a", 0), evidence())
    ledger.observe(0, "env", Observed(math.nan, hung=True))
    ledger.observe(1, "env", Observed(0.5))
    ledger.observe(1, "another", Observed(0.1))
    (held,) = ledger.due(2)
    assert held.evidence.window == (0.5,)
    assert held.evidence.hung


def test_the_last_cycle_flushes_everything():
    ledger = Ledger(delay=4, window=4)
    ledger.hold(design("a", 0), evidence())
    ledger.hold(design("b", 1, environment=None), None)
    assert [held.design.id for held in ledger.due(1, flush=True)] == ["a", "b"]
    assert ledger.due(9, flush=True) == []


def test_without_delay_a_design_is_due_at_once():
    ledger = Ledger(delay=0, window=1)
    ledger.hold(design("a", 3), evidence())
    ledger.observe(3, "env", Observed(0.5))
    assert [held.evidence.window for held in ledger.due(3)] == [(0.5,)]


def test_state_survives_json_to_the_last_digit():
    ledger = Ledger(delay=2, window=2)
    ledger.hold(design("a", 0), evidence())
    ledger.hold(dataclasses.replace(design("b", 0), fault=Fault("endpoint", "X", "y")), None)
    outcomes = (Outcome(0, "hinted", 7, 0.1 + 0.2), Outcome(0, "unhinted", 7, -1.0))
    ledger.observe(0, "env", Observed(0.1 + 0.2, seeds=(0.1, 0.5), outcomes=outcomes))
    other = Ledger(delay=2, window=2)
    other.load_state_dict(json.loads(json.dumps(ledger.state_dict())))
    held = ledger.due(2)
    assert other.due(2) == held
    assert held[0].evidence.window == (0.1 + 0.2,)
    assert held[0].evidence.seeds == (0.1, 0.5)
    assert held[0].evidence.outcomes == outcomes


def test_a_state_of_0_1_knows_no_single_plays():
    ledger, other = Ledger(delay=2, window=2), Ledger(delay=2, window=2)
    ledger.hold(design("a", 0), evidence())
    state = json.loads(json.dumps(ledger.state_dict()))
    del state["held"][0]["evidence"]["outcomes"], state["held"][0]["evidence"]["skill_returns"]
    other.load_state_dict(state)
    assert other.due(2) == ledger.due(2)
