"""Checkpoints: often enough to lose little, seldom enough to cost little."""

from __future__ import annotations

import pytest

from spadework.config import RunSection
from spadework.runs.cadence import Cadence


def written(run: RunSection, cycle_seconds: float, cost: float) -> list[int]:
    """After which cycles checkpoints are written, when a cycle and a checkpoint take so many seconds."""
    cadence, now, cycles = Cadence(run, 0.0), 0.0, []
    for cycle in range(run.cycles):
        now += cycle_seconds
        if cadence.due(cycle, now):
            cycles.append(cycle)
            cadence.written(now, now + cost)
            now += cost
    return cycles


@pytest.mark.parametrize(
    ("settings", "cycle_seconds", "cost", "expected"),
    [
        ({}, 60.0, 1.0, list(range(12))),  # cheap: every cycle
        ({}, 60.0, 12.0, [0, 4, 8, 11]),  # 12 s are a twentieth of four minutes
        ({}, 1.0, 100.0, [0, 11]),
        ({"checkpoint_every": 3}, 60.0, 1.0, [2, 5, 8, 11]),
        ({"checkpoint_minutes": 5.0}, 60.0, 0.0, [4, 9, 11]),
        ({"checkpoint_minutes": 0.0}, 1.0, 100.0, list(range(12))),
        ({"deterministic": True}, 1.0, 100.0, list(range(12))),
        ({"deterministic": True, "checkpoint_minutes": 60.0}, 1.0, 100.0, list(range(12))),
        ({"evaluate_every": 4}, 1.0, 100.0, [0, 3, 7, 11]),
        ({"checkpoint_every": 5, "deterministic": True, "evaluate_every": 6}, 1.0, 1.0, [4, 5, 9, 11]),
    ],
)
def test_when(settings: dict[str, object], cycle_seconds: float, cost: float, expected: list[int]) -> None:
    assert written(RunSection(cycles=12, **settings), cycle_seconds, cost) == expected


def test_checkpoints_take_no_more_than_a_twentieth_of_the_time() -> None:
    cycles = written(RunSection(cycles=1000), 60.0, 20.0)
    assert 0.04 < len(cycles) * 20.0 / (1000 * 60.0) <= 0.05 + 0.001
