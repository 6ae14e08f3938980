"""Each tracker for real, in a folder of its own: what was logged is read back from what lies on the disk."""

from __future__ import annotations

import csv
import json
import math
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.viewers import train

from spadework.config import RunConfig
from spadework.config.files import override_config
from spadework.errors import ConfigError
from spadework.runs.metrics import CsvSink, TensorBoardSink
from spadework.runs.store import RunStore
from spadework.runs.trackers import open_trackers, tracker_id

PROGRAM = """
import sys
from pathlib import Path
from spadework.config import RunConfig
from spadework.config.files import override_config
from spadework.runs.trackers import open_trackers
first, last = int(sys.argv[3]), int(sys.argv[4])
config = override_config(RunConfig(), [f'track.to=["{sys.argv[1]}"]', "track.project=trial"])
(sink,) = open_trackers(config, Path(sys.argv[2]), first)
for cycle in range(first, last):
    sink.log(cycle, {"agent/turns": cycle / 4, "pool/size": 8.0})
sink.close()
"""
TRACKIO_ROWS = """
import json, sys
from trackio.sqlite_storage import SQLiteStorage
print(json.dumps(SQLiteStorage.get_logs(*sys.argv[1:])))
"""


def track(name: str, run: Path, first: int, last: int, **variables: str) -> None:
    """Log cycles ``first`` to ``last`` in a process of its own, as a run and its resumption are."""
    run.mkdir(exist_ok=True)
    env = {**os.environ, **variables}
    command = [sys.executable, "-c", PROGRAM, name, str(run), str(first), str(last)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False, cwd=run)
    assert done.returncode == 0, done.stderr[-3000:]


def test_csv_gets_late_columns_and_drops_lost_cycles(tmp_path: Path) -> None:
    sink = CsvSink(tmp_path / "metrics.csv")
    for cycle, row in enumerate([{"a": 1.0}, {"a": 2.0, "b": 0.5}, {"a": 3.0}]):
        sink.log(cycle, row)
    sink = CsvSink(tmp_path / "metrics.csv", first_step=2)
    sink.log(2, {"c, d": 7.0})
    sink.close()
    with (tmp_path / "metrics.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows == [
        {"cycle": "0", "a": "1.0", "b": "", "c, d": ""},
        {"cycle": "1", "a": "2.0", "b": "0.5", "c, d": ""},
        {"cycle": "2", "a": "", "b": "", "c, d": "7.0"},
    ]


def test_tensorboard_forgets_lost_cycles(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="needs tensorboard: pip install 'spadework[local]'")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for first, values in ((0, (1.0, 2.0, 3.0)), (1, (5.0, 6.0))):
        sink = TensorBoardSink(tmp_path, first)
        for cycle, value in enumerate(values, first):
            sink.log(cycle, {"agent/turns": value})
        sink.close()
        # the files' names hold the second in which they were made: their order is that of the names
        for place, file in enumerate(sorted(tmp_path.glob("events*"), key=lambda path: path.stat().st_mtime_ns)):
            file.rename(tmp_path / f"events.out.tfevents.{place:010d}.host")
    read = EventAccumulator(str(tmp_path))
    read.Reload()
    assert [(event.step, event.value) for event in read.Scalars("agent/turns")] == [(0, 1.0), (1, 5.0), (2, 6.0)]


def test_wandb_offline(tmp_path: Path) -> None:
    pytest.importorskip("wandb", reason="needs wandb: pip install 'spadework[trackers]'")
    run = tmp_path / "mine"
    offline = {"WANDB_MODE": "offline", "WANDB_SILENT": "true"}
    track("wandb", run, 0, 2, **offline)
    track("wandb", run, 2, 3, **offline)
    found = [record for file in sorted(run.glob("wandb/offline-run-*/*.wandb")) for record in wandb_records(file)]
    runs = [record.run for record in found if record.HasField("run")]
    assert {(one.project, one.display_name, one.run_id) for one in runs} == {("trial", "mine", tracker_id(run))}
    assert any(item.key == "run" for one in runs for item in one.config.update)  # the config's section [run]
    rows = [
        {item.key or "/".join(item.nested_key): float(item.value_json) for item in record.history.item}
        for record in found
        if record.HasField("history")
    ]
    assert [(row["cycle"], row["agent/turns"], row["pool/size"]) for row in rows] == [
        (0, 0.0, 8.0), (1, 0.25, 8.0), (2, 0.5, 8.0)]  # fmt: skip


def test_mlflow_in_a_database(tmp_path: Path) -> None:
    pytest.importorskip("mlflow", reason="needs mlflow: pip install 'spadework[trackers]'")
    pytest.importorskip("sqlalchemy", reason="MLflow's database needs sqlalchemy")
    run, database = tmp_path / "mine", tmp_path / "mlflow.db"
    track("mlflow", run, 0, 2, MLFLOW_TRACKING_URI=f"sqlite:///{database}")
    track("mlflow", run, 2, 3, MLFLOW_TRACKING_URI=f"sqlite:///{database}")
    with sqlite3.connect(database) as held:
        ((name, status),) = held.execute("SELECT name, status FROM runs").fetchall()
        values = held.execute("SELECT step, value FROM metrics WHERE key = 'agent/turns' ORDER BY step").fetchall()
        params = dict(held.execute("SELECT key, value FROM params").fetchall())
    assert (name, status, values) == ("mine", "FINISHED", [(0, 0.0), (1, 0.25), (2, 0.5)])
    assert (params["track.project"], params["run.cycles"], params["domain"]) == ("trial", "400", "games")


def test_trackio_in_a_folder(tmp_path: Path) -> None:
    pytest.importorskip("trackio", reason="needs trackio: pip install 'spadework[trackio]'")
    run, folder = tmp_path / "mine", tmp_path / "trackio"
    track("trackio", run, 0, 2, TRACKIO_DIR=str(folder))
    track("trackio", run, 2, 3, TRACKIO_DIR=str(folder))
    command = [sys.executable, "-c", TRACKIO_ROWS, "trial", f"mine-{tracker_id(run)}"]
    env = {**os.environ, "TRACKIO_DIR": str(folder)}
    rows = json.loads(subprocess.check_output(command, env=env, text=True, timeout=300).splitlines()[-1])
    assert [(row["step"], row["agent/turns"], row["pool/size"]) for row in rows] == [
        (0, 0.0, 8.0), (1, 0.25, 8.0), (2, 0.5, 8.0)]  # fmt: skip


def test_mlflow_sends_later_what_was_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("mlflow", reason="needs mlflow: pip install 'spadework[trackers]'")
    pytest.importorskip("sqlalchemy", reason="MLflow's database needs sqlalchemy")
    database = tmp_path / "mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{database}")
    (sink,) = open_trackers(override_config(RunConfig(), ['track.to=["mlflow"]']), tmp_path, 0)
    sink.log(0, {"a": 0.0})
    with sqlite3.connect(database) as held:
        held.execute("ALTER TABLE metrics RENAME TO away")
    sink.log(1, {"a": 1.0, "b": math.nan})
    assert "wait to be sent: 1" in capsys.readouterr().out
    with sqlite3.connect(database) as held:
        held.execute("ALTER TABLE away RENAME TO metrics")
    sink.log(2, {"a": 2.0})
    sink.close()
    with sqlite3.connect(database) as held:
        assert held.execute("SELECT key, step FROM metrics ORDER BY step").fetchall() == [("a", 0), ("a", 1), ("a", 2)]
    assert "wait" not in capsys.readouterr().out


def test_a_run_writes_where_its_config_says(tmp_path: Path) -> None:
    run = train(tmp_path / "run", "run.cycles=2", 'track.to=["csv"]')
    store = RunStore.read(run)
    series = store.metrics()
    store.close()
    with (run / "metrics.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for name, points in series.items():
        assert [float(rows[cycle][name]) for cycle, _ in points] == [value for _, value in points]
    assert not (run / "tensorboard").exists() and not (run / "tracker-id").exists()


def test_one_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(ConfigError, match=r"wandb .*pip install 'spadework\[trackers\]'"):
        open_trackers(override_config(RunConfig(), ['track.to=["wandb"]']), tmp_path, 0)
    monkeypatch.setitem(sys.modules, "tensorboard.compat.proto.event_pb2", None)
    assert open_trackers(RunConfig(), tmp_path, 0) == []  # nobody asked for it
    with pytest.raises(ConfigError, match=r"track\.to"):
        override_config(RunConfig(), ['track.to=["wandbb"]'])


def wandb_records(file: Path) -> Iterator[Any]:
    """The protocol buffers of an offline run: a seven-byte head, then LevelDB's log format (32 KiB blocks)."""
    from wandb.proto.wandb_internal_pb2 import Record

    data, place, held = file.read_bytes(), 7, b""
    while place + 7 <= len(data):
        if 32_768 - place % 32_768 < 7:
            place += 32_768 - place % 32_768
            continue
        length, kind = int.from_bytes(data[place + 4 : place + 6], "little"), data[place + 6]
        held += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # whole, or the last part
            record = Record()
            record.ParseFromString(held)
            held = b""
            yield record
