"""The closing table: its arms cover the same environments, and every figure says of how many."""

from __future__ import annotations

from pathlib import Path

import pytest

from spadework.analysis.closing import closing
from spadework.config.files import load_config
from spadework.intervals import share_interval
from spadework.runs.cycle_record import CycleRecord, EventRow, PlayRow, RegretRow, Score
from spadework.runs.store import RunStore
from spadework.types import Design, Environment, Fault


def design(slot: int, cycle: int, *, ran: bool, name: str | None, fault: Fault | None = None) -> Design:
    return Design(
        f"{cycle}-{slot}-0", cycle, slot, 0, "s", "d", (), "", "", "", (), () if name else ("ENV401 lost",),
        ran=ran, environment_id=name, fault=fault,
    )  # fmt: skip


def environment(name: str, cycle: int, design_id: str | None) -> Environment:
    return Environment(name, f"# {name}", "hint", "s", "games", "d", cycle, 0, (), design_id)


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    """Two cycles: in each a new environment is played in both arms, beside an anchor and last cycle's environment."""
    store = RunStore.create(tmp_path / "run", load_config("scripted", ["pool.anchors=['larger_number']"]))
    for cycle, rates in enumerate([(0.0, 0.5), (0.5, 1.0)]):
        name = f"new{cycle}"
        plays = [
            PlayRow("anchor", "unhinted", 4, 0, 1.0, 1.0),
            PlayRow(name, "unhinted", 8, 4, rates[0], rates[0]),
            PlayRow(name, "hinted", 8, 0, rates[1], rates[1]),
        ]
        if cycle:
            plays.append(PlayRow("new0", "unhinted", 8, 0, 1.0, 1.0))
        store.commit(
            CycleRecord(
                cycle=cycle,
                environments=[
                    environment(name, cycle, f"{cycle}-0-0"),
                    *([environment("anchor", 0, None)] if not cycle else []),
                ],
                designs=[
                    design(0, cycle, ran=True, name=name),
                    design(1, cycle, ran=False, name=None),
                    design(2, cycle, ran=False, name=None, fault=Fault("endpoint", "CONNECTION", "refused")),
                ],
                scores=[Score(f"{cycle}-0-0", 1.0, 0.5, 0.5 * cycle)],
                plays=plays,
                regrets=[RegretRow(name, 0.5, 0.0, 1.0, 0.1, 4)],
                events=[EventRow("anchor", None, True, "anchor")] if not cycle else [],
                metrics={"agent/turns": 1.0},
            ),
            None,
        )
    return store


def test_each_measure_says_of_how_many_and_leaves_faults_out(store: RunStore) -> None:
    closed = closing(store)
    rows = {row.label: row for row in closed.rows}
    assert (closed.span, closed.cycles) == (1, 2)
    assert rows["anchors won without a hint"].first == share_interval(4, 4)
    unhinted, hinted = rows["new environments won without the hint"], rows["the same won with the hint"]
    assert (unhinted.first, unhinted.last) == (share_interval(0, 4), share_interval(2, 4)), (
        "new0 plays on and is not new"
    )
    assert (hinted.first, hinted.last) == (share_interval(4, 8), share_interval(8, 8))
    assert rows["designs that ran"].first == share_interval(1, 2), (
        "what the endpoint failed says nothing of the designer"
    )
    assert rows["learnable (0.2 to 0.8) when they entered"].last == share_interval(1, 1)
    assert [rows["paid with a gradient"].first.mean, rows["paid with a gradient"].last.mean] == [0.0, 1.0]
    for row in closed.rows:
        for value in (row.first, row.last):
            assert value.n == 0 or value.n == 1 or value.high - value.low >= 0
            assert not value.n or -2 <= value.mean <= 2


def test_a_run_without_designs_has_only_what_was_measured(tmp_path: Path) -> None:
    store = RunStore.create(tmp_path / "run", load_config("scripted"))
    store.commit(CycleRecord(cycle=0, metrics={"agent/turns": 1.0}), None)
    assert closing(store).rows == ()
