"""``spadework plot`` on runs of the scripted policy."""

from __future__ import annotations

import csv
import math
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from tests.viewers import train

from spadework.analysis.tables import measures, read_run
from spadework.cli import main
from spadework.cli.runs.plot import FIGURES, OTHERS
from spadework.runs.store import RunStore

pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'spadework[local]'")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("runs") / "run", "run.cycles=3")


def test_figures_and_numbers(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", str(run), "--embedder", "none", "--out", str(tmp_path / "new" / "out")]) == 0
    out = tmp_path / "new" / "out"
    said = capsys.readouterr().out
    assert "trajectory: nothing to draw" in said  # it needs evaluations
    for name in {*OTHERS, *FIGURES} - {"trajectory"}:
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG"), said
        assert ET.parse(out / f"{name}.svg").getroot().tag.endswith("svg")
    assert "Logical" in (out / "skills.svg").read_text()  # letters, not outlines
    with (out / "by-cycle.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert "TF-IDF" in (out / "diversity.csv").read_text()
    assert [(row["run"], row["cycle"]) for row in rows] == [("run", "0"), ("run", "1"), ("run", "2")]


def test_the_table_says_what_the_run_said(run: Path) -> None:
    store = RunStore.read(run)
    series = store.metrics()
    store.close()
    rows = measures(read_run(run), "cycle").to_pylist()
    pairs = {"agent/unhinted_win_rate": "unhinted", "agent/hinted_win_rate": "hinted", "pool/learnable_share": "learnable",
             "designer/regret": "regret", "designer/ran_share": "ran", "designer/valid_share": "accepted"}  # fmt: skip
    for metric, name in pairs.items():
        for cycle, value in series[metric]:
            assert math.isclose(rows[cycle][name], value, abs_tol=1e-9), (metric, cycle)


def test_some_figures_of_two_runs(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", str(run), str(run), "--only", "actions", "gains", "--out", str(tmp_path)]) == 0
    assert sorted(path.name for path in tmp_path.glob("*.png")) == ["actions.png", "gains.png"]


def test_no_run_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", str(tmp_path / "none")]) == 2
    assert "no run directory" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_named(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["plot", str(run), "--out", str(tmp_path / "file")]) == 2
    assert "--out" in capsys.readouterr().err
