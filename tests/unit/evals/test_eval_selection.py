"""Averages over columns, the choice of a checkpoint, and the paper's rows beside them."""

import math
from pathlib import Path

import pytest

from spadework.evals.records import ItemResult, Setting, SuiteResult, write_result
from spadework.evals.reference import reference_rows
from spadework.evals.selection import TRAJECTORY, Curve, Point, columns, gain_over_start, read_curve


def result(suite: str, scores: dict[str, list[float]]) -> SuiteResult:
    items = [
        ItemResult(f"{group}{n}", group, f"{group}{n}", s) for group, own in scores.items() for n, s in enumerate(own)
    ]
    return SuiteResult(Setting(suite, "paper", {}), {"model": "m"}, tuple(items))


def test_eval_columns_count_reasoning_gym_by_category() -> None:
    found = columns(
        [
            result("reasoning-gym", {"math": [1, 0], "logic": [1, 1, 1]}),
            result("gpqa", {"Physics": [1, 0, 0, 0]}),
            result("heldout-hinted", {"": [1]}),
        ]
    )
    assert found == {"reasoning-gym/math": 0.5, "reasoning-gym/logic": 1.0, "gpqa": 0.25}


def test_eval_curve_finds_the_best_by_shared_columns(tmp_path: Path) -> None:
    for cycle, gpqa, extra in ((1, 0.5, None), (3, 0.75, None), (5, 0.25, 1.0)):
        folder = tmp_path / "evals" / f"{cycle:05d}"
        folder.mkdir(parents=True)
        write_result(result("gpqa", {"": [1.0] * int(4 * gpqa) + [0.0] * int(4 - 4 * gpqa)}), folder / "gpqa.json")
        if extra is not None:
            write_result(result("heldout", {"": [extra]}), folder / "heldout.json")
    curve = read_curve(tmp_path)
    assert curve.shared == ("gpqa",)
    assert (curve.best.cycle, curve.last.cycle) == (3, 5)
    assert math.isnan(curve.trajectory())


def test_eval_gain_is_over_columns_that_all_have(tmp_path: Path) -> None:
    for name, gpqa, aime in (("start", 0.25, 1.0), ("00001", 0.75, None), ("00003", 0.5, 1.0)):
        folder = tmp_path / "evals" / name
        folder.mkdir(parents=True)
        write_result(result("gpqa", {"": [1.0] * int(4 * gpqa) + [0.0] * int(4 - 4 * gpqa)}), folder / "gpqa.json")
        if aime is not None:
            write_result(result("aime2025", {"": [aime]}), folder / "aime2025.json")
    assert gain_over_start(tmp_path) == pytest.approx(0.5)
    assert math.isnan(gain_over_start(tmp_path / "never evaluated"))
    (tmp_path / "evals" / "start" / "gpqa.json").unlink()
    assert math.isnan(gain_over_start(tmp_path))


def test_eval_trajectory_is_the_mean_over_checkpoints_of_the_six() -> None:
    points = [Point(n, {**dict.fromkeys(TRAJECTORY, value), "aime2025": 0.0}) for n, value in enumerate((0.2, 0.6))]
    assert Curve(tuple(points), ("gpqa",)).trajectory() == pytest.approx(0.4)


def test_eval_reference_rows_agree_with_their_own_averages() -> None:
    rows = [row for row in reference_rows(["gpqa", "bfcl"], "all") if "average" in row.values]
    assert len(rows) == 24
    for row in rows:
        games = [value for name, value in row.values.items() if name != "average"]
        tools = [row.values[name] for name in ("bfcl", "tau2", "acebench") if name in row.values]
        own = tools if row.setting == "tool_use" else games
        assert sum(own) / len(own) == pytest.approx(row.values["average"], abs=0.11), row.model
    assert {row.kind for row in reference_rows(["gpqa"])} == {"base", "spade"}
    assert reference_rows(["gpqa"], "none") == []
    assert {row.size for row in reference_rows(["gpqa"], "8b")} == {"8b"}
