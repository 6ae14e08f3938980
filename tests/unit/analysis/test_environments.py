from __future__ import annotations

from pathlib import Path

import pytest
from tests.viewers import train

from spadework.analysis.designs import outcomes
from spadework.analysis.environments import design_rows, environment_rows, relatives
from spadework.config import RunConfig
from spadework.config.differences import differing
from spadework.config.files import override_config
from spadework.runs.records import read_designs, read_environments
from spadework.runs.store import RunStore


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("runs") / "run", "run.cycles=3")


def test_rows_hold_what_the_tables_hold(run: Path) -> None:
    store = RunStore.read(run)
    rows = {row["id"]: row for row in environment_rows(store)}
    assert list(rows) == [environment.id for environment in read_environments(store)]
    for play in store.rows("plays"):  # by cycle: the last one stands
        rows[play["environment_id"]].setdefault("seen", {})[play["arm"]] = play["win_rate"]
    for row in rows.values():
        assert (row["unhinted"], row["hinted"]) == (row["seen"]["unhinted"], row["seen"]["hinted"])
        assert row["regret_low"] <= row["regret"] <= row["regret_high"]
    assert sum(row["episodes"] for row in rows.values()) == sum(play["episodes"] for play in store.rows("plays"))
    designs = design_rows(store)
    assert [row["id"] for row in designs] == [design.id for design in read_designs(store)]
    assert any(row["findings"] for row in designs) and all(row["findings"] or row["environment"] for row in designs)
    counts = outcomes(read_designs(store))
    assert {reason: sum(row["reason"] == reason for row in designs) for reason in counts} == counts
    store.close()


def test_relatives_go_by_generations_and_never_in_circles() -> None:
    rows = [{"id": name, "parents": parents} for name, parents in
            [("a", []), ("b", ["a"]), ("c", ["b", "a"]), ("d", ["c", "gone"]), ("e", ["e", "d"])]]  # fmt: skip
    assert relatives(rows, "c") == ([["b", "a"]], [["d"], ["e"]])
    assert relatives(rows, "e") == ([["d"], ["c", "gone"], ["b", "a"]], [])
    assert relatives(rows, "gone") == ([], [["d"], ["e"]])


def test_only_settings_that_differ_are_listed() -> None:
    other = override_config(RunConfig(), ["run.seed=7", "memory.size=3"])
    assert differing([RunConfig(), other]) == [("run.seed", [0, 7]), ("memory.size", [200, 3])]
    assert differing([other, other]) == []
