"""Runs and pools that version 0.1 wrote still open, go on, replay, rescore and export."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from spadework.cli import main
from spadework.errors import ConfigError, RunError
from spadework.runs.database import FORMAT
from spadework.runs.store import RunStore
from spadework.selfplay.pool.files import load_pool, write_pool

OLD = Path(__file__).parents[1] / "fixtures" / "v0.1"
RESCORED = {"scripted": 0, "tool-use": 1, "tiny": 0}
"""Exit status of ``rescore``. Version 0.1 left agent groups without spread out of the designer's weight, so a run that
had such a group was paid other than this version would pay it, and ``rescore`` says so."""
CYCLES = {"scripted": 3, "tool-use": 2, "tiny": 2}


@pytest.fixture(params=CYCLES)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / str(request.param)
    shutil.copytree(OLD / path.name, path)
    return path


def test_it_is_shown(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "show", str(old), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["cycles"], shown["of"]) == (CYCLES[old.name], CYCLES[old.name])
    assert shown["environments"] and shown["metrics"]["agent/episodes"] > 0


def test_it_goes_on_under_its_own_config(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if old.name == "tiny":
        pytest.importorskip("torch", reason="needs torch: pip install 'spadework[local]'")
    store = RunStore.read(old)
    config, before = store.config, store.metrics()
    assert store.format == 1
    store.close()
    more = CYCLES[old.name] + 1
    assert main(["train", "--resume", "--run", str(old), "--set", f"run.cycles={more}"]) == 0
    assert f"run.cycles: {more - 1} -> {more}" in capsys.readouterr().out
    store = RunStore.read(old)
    assert store.format == FORMAT
    assert store.config == config.model_copy(update={"run": config.run.model_copy(update={"cycles": more})})
    after = store.metrics()
    store.close()
    assert len(after["agent/episodes"]) == more
    assert all(after[name][: len(points)] == points for name, points in before.items())
    assert main(["rescore", str(old)]) == RESCORED[old.name]
    assert "moved: 0 of" in capsys.readouterr().out, "what was paid at the end of the shorter run is still paid there"
    lines = (old / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["cycle"] for line in lines] == list(range(more))


def test_it_replays_and_rescores(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(old), "--all"]) == 0
    count = len([row for file in (old / "episodes").iterdir() for row in pq.read_table(file).to_pylist()])
    assert f"OK: {count} of {count} episodes" in capsys.readouterr().out
    assert main(["rescore", str(old)]) == RESCORED[old.name]
    assert "moved: 0 of" in capsys.readouterr().out


@pytest.mark.parametrize("what", ["episodes", "sequences", "environments"])
def test_it_exports(old: Path, tmp_path: Path, what: str) -> None:
    assert main(["export", str(old), "--what", what, "--out", str(tmp_path / "out.parquet")]) == 0
    stored = [pq.read_table(file).num_rows for file in (old / what).iterdir()] if what != "environments" else []
    rows = pq.read_table(tmp_path / "out.parquet").num_rows
    assert rows == sum(stored) if stored else rows > 0


def test_its_state_is_plain_data() -> None:
    """Nothing names a module of the program, so that modules may move."""
    for run in CYCLES:
        files = [path for path in (OLD / run / "checkpoints").rglob("*") if path.is_file()]
        assert {path.suffix for path in files} <= {".json", ".safetensors"}
        assert not [path for path in files if b"spadework." in path.read_bytes()]


def test_a_pool_is_read_and_written_with_its_format(tmp_path: Path) -> None:
    environments = load_pool(OLD / "pool.parquet")
    assert environments
    write_pool(tmp_path / "pool.parquet", environments)
    assert load_pool(tmp_path / "pool.parquet") == environments
    table = pq.read_table(tmp_path / "pool.parquet")
    newer = {b"spadework.format": b"99"}
    pq.write_table(table.replace_schema_metadata(newer), tmp_path / "newer.parquet")
    with pytest.raises(ConfigError, match=r"newer\.parquet was written by a newer version .*format 99"):
        load_pool(tmp_path / "newer.parquet")


def test_a_run_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run"
    shutil.copytree(OLD / "scripted", path)
    with sqlite3.connect(path / "run.sqlite") as database:
        database.execute("INSERT INTO meta VALUES ('format', '99')")
    for opened in (RunStore.read, RunStore.resume):
        with pytest.raises(RunError, match="newer version"):
            opened(path)
