"""The gap of held-out games: pairs of one seed, exact intervals, points in the order of the run."""

from __future__ import annotations

from pathlib import Path

from spadework.evals.gap import HINTED, PLACEBO, START, UNHINTED, as_json, read_gaps
from spadework.evals.records import ItemResult, Setting, SuiteResult, write_result
from spadework.intervals import mean_interval, share_interval


def write(folder: Path, suite: str, scores: dict[str, float], work: bool = False) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    items = tuple(
        ItemResult(f"g/{name}", "taught", "g", score, detail={"work": work and name == "0"})
        for name, score in scores.items()
    )
    write_result(SuiteResult(Setting(suite, "p", {}), {"model": "m"}, items), folder / f"{suite}.json")


def test_the_arms_are_paired_by_seed(tmp_path: Path) -> None:
    evals = tmp_path / "evals"
    write(evals / "00003", UNHINTED, {"0": 1.0, "1": 1.0, "2": 0.0}, work=True)
    write(evals / "00003", HINTED, {"0": 1.0, "1": 1.0, "2": 1.0})
    write(evals / "start", UNHINTED, {"0": 0.0, "1": 0.0, "2": 1.0})
    write(evals / "start", HINTED, {"2": 1.0, "1": 1.0, "0": 1.0})
    write(evals / "start", PLACEBO, {"0": 0.0, "1": 1.0, "2": 1.0})
    start, later = read_gaps(tmp_path)
    assert (start.cycle, later.cycle) == (START, 3)
    assert start.unhinted == share_interval(1, 3) and start.hinted == share_interval(3, 3)
    assert start.gap == mean_interval([1.0, 1.0, 0.0], -1.0, 1.0)
    assert start.over_placebo == mean_interval([0.0, 0.0, 1.0], -1.0, 1.0)
    assert later.placebo.n == 0 and later.work == share_interval(1, 3)
    assert as_json([later])[0]["placebo"]["mean"] is None


def test_a_run_without_held_out_games_has_no_gap(tmp_path: Path) -> None:
    assert read_gaps(tmp_path) == []
    write(tmp_path / "evals" / "start", UNHINTED, {"0": 1.0})
    assert read_gaps(tmp_path) == []
