"""A study over the command line: run, killed and gone on with, held to its file, and reported."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from tests.runs import start_cli

from spadework.cli import main
from spadework.runs.store import RunStore

STUDY = """
title = "A designer against a pool"
config = "scripted"
seeds = [11, 12]
tuned_on = [1]
cycles = 3
set = [
    "run.deterministic=true", "validation.panel=false", "validation.seeds=2", "designer.environments=2",
    "designer.every=1", "play.episodes=3",
]

[pools.start]
n = 2
seed = 901

[pools.measured]
n = 2
seed = 900

[arms.designer]
label = "own designs"

[arms.fixed]
pool = "start"
set = ["designer.environments=0", "pool.per_cycle=2"]

[heldout]
pool = "measured"
episodes = 8
hinted_episodes = 4
every = 2
max_error = 0.2

[measures.heldout]
label = "held-out win rate"
series = "heldout/win_rate"

[measures.broken]
label = "broken designs"
series = "designer/broken_share"
last = 2

[measures.levels]
label = "reward levels"
series = "pool/reward_levels"

[[hypotheses]]
claim = "Plays better in the end"
measure = "heldout"
arm = "designer"
than = "start"

[[hypotheses]]
claim = "Plays better than on the pool"
measure = "heldout"
arm = "designer"
than = ["fixed"]

[[hypotheses]]
claim = "Fewer than half of the designs are broken"
measure = "broken"
arm = "designer"
bar = 0.5
side = "below"
"""
JOBS = ["measured:900", "start:901", "designer:11", "fixed:11", "designer:12", "fixed:12"]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study") / "study.toml"
    path.write_text(STUDY)
    return path


@pytest.fixture(scope="module")
def unbroken(file: Path) -> Path:
    """Job by job, in this process."""
    out = file.parent / "unbroken"
    for job in JOBS:
        assert main(["study", str(file), "--out", str(out), "--only", job]) == 0
    assert main(["study", str(file), "--out", str(out), "--report-only"]) == 0
    return out


def stored(run: Path) -> dict[str, list[tuple[int, float]]]:
    store = RunStore.read(run)
    try:
        return store.metrics()
    finally:
        store.close()


def results(out: Path) -> dict[str, Any]:
    return dict(json.loads((out / "report" / "results.json").read_text()))


def test_a_killed_study_goes_on_to_the_same_report(
    file: Path, unbroken: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = file.parent / "killed"
    study = start_cli("study", file, "--out", out, "--jobs", "2")
    deadline = time.monotonic() + 120
    while not list(out.glob("runs/*/metrics.jsonl")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(study.pid, signal.SIGKILL)
    study.communicate()
    assert not (out / "report").exists()
    begun = {path.parent.name for path in out.glob("runs/*/metrics.jsonl")}
    assert begun
    assert main(["study", str(file), "--out", str(out), "--jobs", "2"]) == 0
    said = capfd.readouterr().out
    assert "4 of 4 runs done" in said
    assert "Plays better in the end" in said
    assert results(out)["updates"] == results(unbroken)["updates"]
    assert (out / "frozen.json").read_text() == (unbroken / "frozen.json").read_text()


def test_the_report_says_what_was_measured(unbroken: Path) -> None:
    found = results(unbroken)
    assert (found["runs"], found["finished"], found["seeds"]) == (4, 4, [11, 12])
    values = found["updates"]["values"]
    for place, seed in enumerate([11, 12]):
        lines = [json.loads(line) for line in (unbroken / f"runs/designer-{seed}/heldout.jsonl").open()]
        assert [line["updates"] for line in lines] == [0, 2, 3]
        assert values["heldout"]["designer"][place] == lines[-1]["win_rate"]
        assert lines[-1]["episodes"] == 8
        assert lines[-1]["hinted_win_rate"] is not None
    assert values["broken"]["fixed"] == [None, None]
    assert all(1 <= level <= 2 for level in values["levels"]["designer"])
    totals = {}
    for arm in ("designer", "fixed"):
        for place, seed in enumerate([11, 12]):
            metrics = stored(unbroken / f"runs/{arm}-{seed}")
            pool = json.loads((unbroken / "pools/start-901.json").read_text())["seconds"] if arm == "fixed" else 0.0
            clock = [value for name in ("time/collect_s", "time/update_s") for _, value in metrics[name]]
            totals[arm, place] = pool + sum(clock)
            if arm == "designer":
                ran = [value for _, value in metrics["designer/ran_share"]]
                assert values["broken"][arm][place] == pytest.approx(1 - sum(ran[-2:]) / 2)
    assert found["time"]["limit"] == pytest.approx(min(totals.values()))
    arm, place = min(totals, key=lambda key: totals[key])
    for name in ("heldout", "levels"):
        assert found["time"]["values"][name][arm][place] == values[name][arm][place]
    starts = [
        json.loads((unbroken / f"runs/{arm}-11/heldout.jsonl").open().readline()) for arm in ("designer", "fixed")
    ]
    assert starts[0]["win_rate"] == starts[1]["win_rate"]
    text = (unbroken / "report/report.md").read_text()
    for words in (
        "own designs, seed 12",
        "`pool.per_cycle = 2`",
        "undecided",
        "chosen on other seeds (1)",
        "by-time.png",
    ):
        assert words in text
    assert "INCOMPLETE" not in text
    for name in ("by-updates", "by-time", "by-seed"):
        assert (unbroken / f"report/{name}.png").read_bytes().startswith(b"\x89PNG")
    assert (unbroken / "report/report.html").read_text().count("data:image/svg+xml") == 3
    assert not list(unbroken.glob("runs/*/snapshots"))


def test_an_archive_gives_the_same_report_and_goes_on(
    file: Path, unbroken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part, archive = tmp_path / "part", tmp_path / "archive"
    shutil.copytree(unbroken, part)
    shutil.rmtree(part / "runs/fixed-12")
    assert main(["study", str(file), "--out", str(part), "--archive", str(archive)]) == 0
    assert "3 finished runs" in capsys.readouterr().out
    assert {path.name for path in archive.glob("runs/*/*")} == {"series.json", "done.json"}
    assert main(["study", str(file), "--out", str(archive), "--report-only"]) == 1
    assert results(archive)["finished"] == 3
    assert main(["study", str(file), "--out", str(archive), "--jobs", "1"]) == 0
    assert results(archive)["updates"] == results(unbroken)["updates"]
    assert results(archive)["time"]["values"]["levels"].keys() == {"designer", "fixed"}
    again = tmp_path / "whole"
    for folder in (part, unbroken):  # as two machines would
        assert main(["study", str(file), "--out", str(folder), "--archive", str(again)]) == 0
    assert main(["study", str(file), "--out", str(again), "--report-only"]) == 0
    assert results(again) == results(unbroken)
    (tmp_path / "other").mkdir()
    frozen = json.loads((unbroken / "frozen.json").read_text())
    (tmp_path / "other/frozen.json").write_text(json.dumps({**frozen, "sha256": "another"}))
    assert main(["study", str(file), "--out", str(unbroken), "--archive", str(tmp_path / "other")]) == 2
    assert "holds another study" in capsys.readouterr().err


def test_what_was_fixed_stays_fixed(
    file: Path, unbroken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = tmp_path / "study.toml"
    changed.write_text(STUDY.replace("bar = 0.5", "bar = 0.9"))
    for more in ([], ["--report-only"], ["--only", "fixed:11"]):
        assert main(["study", str(changed), "--out", str(unbroken), *more]) == 2
        assert "has changed since its first run" in capsys.readouterr().err
    frozen = json.loads((unbroken / "frozen.json").read_text())
    frozen["configs"]["fixed"]["update"]["lr"] = 1.0
    other = tmp_path / "other"
    other.mkdir()
    (other / "frozen.json").write_text(json.dumps(frozen))
    assert main(["study", str(file), "--out", str(other)]) == 2
    assert "fixed.update.lr: 1.0 -> 1e-06" in capsys.readouterr().err
    assert main(["study", str(file), "--out", str(unbroken), "--quick"]) == 2
    assert "no [quick] section" in capsys.readouterr().err


def test_a_study_with_failed_runs_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "study.toml", tmp_path / "out"
    failing = STUDY.replace("pool.per_cycle=2", "pool.per_cycle=9").replace("[11, 12]", "[11]")
    start, end = failing.index("[pools.measured]"), failing.index("[arms.designer]")
    failing = failing[:start] + failing[end:]
    failing = failing[: failing.index("[heldout]")] + failing[failing.index("[measures.levels]") :]
    file.write_text(failing[: failing.index("[[hypotheses]]")])
    for job in ("start:901", "designer:11"):
        assert main(["study", str(file), "--out", str(out), "--only", job]) == 0
    assert main(["study", str(file), "--out", str(out), "--only", "fixed:11"]) == 2
    assert "pool.per_cycle draws 9" in capsys.readouterr().err
    assert main(["study", str(file), "--out", str(out), "--report-only", "--json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert (printed["runs"], printed["finished"]) == (2, 1)
    assert "INCOMPLETE: 1 of 2 runs are finished" in (out / "report/report.md").read_text()
