"""An evaluation is watched through the same protocol as a run."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.evals.test_eval_runner import SUBJECT, Killed, adder, suite

from spadework.evals.runner import Where, run_benchmark
from spadework.observer import NullObserver
from spadework.types import Fault


class Watching(NullObserver):
    def __init__(self) -> None:
        self.stages: list[tuple[int | None, str, int, int]] = []
        self.scores: list[float | None] = []
        self.faults: list[Fault] = []

    def stage(self, cycle: int | None, name: str, total: int, done: int = 0) -> None:
        self.stages.append((cycle, name, total, done))

    def advance(self, tokens: int, score: float | None = None, fault: Fault | None = None) -> None:
        self.scores.append(score)
        self.faults += [] if fault is None else [fault]


async def test_an_observer_sees_the_suite_begin_and_every_item_end(tmp_path: Path) -> None:
    watching = Watching()
    await run_benchmark(suite(), adder(refuses="3"), SUBJECT, Where(tmp_path), watching)
    assert watching.stages == [(None, "sums", 24, 0)]
    assert (len(watching.scores), sum(score or 0.0 for score in watching.scores)) == (24, 22.0)
    assert [fault.code for fault in watching.faults] == ["HTTP_500", "HTTP_500"]


async def test_an_observer_is_told_how_much_was_done_before(tmp_path: Path) -> None:
    with pytest.raises(Killed):
        await run_benchmark(suite(), adder(killed_after=9), SUBJECT, Where(tmp_path, jobs=2))
    watching = Watching()
    await run_benchmark(suite(), adder(), SUBJECT, Where(tmp_path), watching)
    ((_, _, total, done),) = watching.stages
    assert 0 < done < total == done + len(watching.scores)
