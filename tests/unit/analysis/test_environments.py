from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.viewers import train

from spadework.analysis.designs import outcomes
from spadework.analysis.environments import _shown, design_rows, environment_rows, finite, relatives
from spadework.config.differences import differing
from spadework.config.files import default_config, override_config
from spadework.runs.reading import read_designs, read_environments
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
        assert -2.0 <= row["regret_low"] <= row["regret"] <= row["regret_high"] <= 2.0
        assert row["regret_low"] < row["regret_high"]
    assert sum(row["episodes"] for row in rows.values()) == sum(play["episodes"] for play in store.rows("plays"))
    designs = design_rows(store)
    assert [row["id"] for row in designs] == [design.id for design in read_designs(store)]
    assert any(row["findings"] for row in designs) and all(row["findings"] or row["environment"] for row in designs)
    counts = outcomes(read_designs(store))
    assert {reason: sum(row["reason"] == reason for row in designs) for reason in counts} == counts
    store.close()


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ({"mean": 0.5, "low": -5.85, "high": 6.85, "n": 2}, (0.5, -2.0, 2.0)),
        ({"mean": 0.5, "low": 0.25, "high": 0.75, "n": 8}, (0.5, 0.25, 0.75)),
        ({"mean": 1.0, "low": 1.0, "high": 1.0, "n": 4}, (1.0, 1.0 - 3 * 0.60236, 1.60236)),
        ({"mean": 3.0, "low": 2.0, "high": 4.0, "n": 4}, (3.0, 2.0, 4.0)),  # rewards that add up
        ({"mean": 0.5, "low": None, "high": None, "n": 1}, (0.5, None, None)),
        ({}, (None, None, None)),
    ],
)
def test_regrets_are_shown_with_intervals_that_can_be(stored: dict[str, Any], shown: tuple[float | None, ...]) -> None:
    found = _shown(stored)
    assert (finite(found.mean), finite(found.low), finite(found.high)) == tuple(
        value if value is None else pytest.approx(value, abs=1e-4) for value in shown
    )


def test_relatives_go_by_generations_and_never_in_circles() -> None:
    rows = [{"id": name, "parents": parents} for name, parents in
            [("a", []), ("b", ["a"]), ("c", ["b", "a"]), ("d", ["c", "gone"]), ("e", ["e", "d"])]]  # fmt: skip
    assert relatives(rows, "c") == ([["b", "a"]], [["d"], ["e"]])
    assert relatives(rows, "e") == ([["d"], ["c", "gone"], ["b", "a"]], [])
    assert relatives(rows, "gone") == ([], [["d"], ["e"]])


def test_only_settings_that_differ_are_listed() -> None:
    other = override_config(default_config(), ["run.seed=7", "memory.size=3"])
    assert differing([default_config(), other]) == [("run.seed", [0, 7]), ("memory.size", [200, 3])]
    assert differing([other, other]) == []
