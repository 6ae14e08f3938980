"""Runs in folders that one may not write: of a colleague, on a read-only mount, killed or still being written."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from spadework.cli import main
from spadework.runs.store import RunStore

OLD = Path(__file__).parents[1] / "fixtures" / "v0.1" / "scripted"
MORE = "INSERT INTO metrics VALUES (2, 'added', 1.0)"


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Path]:
    """A folder whose content may not be written: by a read-only mount for root, by its rights for others."""
    folder = tmp_path / "closed"
    shutil.copytree(OLD, folder / "run")
    yield folder
    if os.geteuid() == 0:
        subprocess.run(["umount", "--lazy", str(folder)], check=False, capture_output=True)
    else:
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755)


def close(folder: Path) -> None:
    """Take away the right to write."""
    if os.geteuid() != 0:
        for path in (*folder.rglob("*"), folder):
            path.chmod(path.stat().st_mode & 0o555)
        return
    for options in (["--bind", str(folder)], ["-o", "remount,ro,bind"]):
        if subprocess.run(["mount", *options, str(folder)], capture_output=True, check=False).returncode:
            pytest.skip("nothing can be mounted here, and root may write everything else")


def metrics(run: Path) -> dict[str, list[tuple[int, float]]]:
    store = RunStore.read(run)
    try:
        return store.metrics()
    finally:
        store.close()


def test_every_verb_that_only_reads(closed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(closed / "run")
    close(closed)
    assert main(["runs", "show", run]) == 0
    assert main(["runs", "list", str(closed)]) == 0
    assert main(["replay", run, "--cycle", "0"]) == 0
    assert main(["rescore", run, "--set", "reward.type=regret"]) == 0
    assert main(["export", run, "--what", "episodes", "--out", str(tmp_path / "e.jsonl")]) == 0
    pytest.importorskip("starlette", reason="needs the viewer: pip install 'spadework[viewer]'")
    assert main(["report", run, "--out", str(tmp_path / "r.html")]) == 0
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'spadework[local]'")
    assert main(["plot", run, "--out", str(tmp_path / "figures")]) == 0
    capsys.readouterr()
    assert main(["report", run]) == main(["plot", run]) == main(["train", "--resume", "--run", run]) == 2
    said = capsys.readouterr().err
    assert said.count("--out") == 2 and "run cannot be written" in said
    assert not [path for path in (closed / "run").iterdir() if path.name.startswith("run.sqlite-")]


def test_a_run_whose_writer_was_killed(closed: Path) -> None:
    run = closed / "run"
    code = f"import os, sqlite3\nd = sqlite3.connect({str(run / 'run.sqlite')!r})\nd.execute({MORE!r})\nd.commit()\nos._exit(9)"
    subprocess.run(["python3", "-c", code], check=False)
    assert (run / "run.sqlite-wal").stat().st_size > 0
    close(closed)
    assert metrics(run)["added"] == [(2, 1.0)]


def test_a_run_that_is_being_written(closed: Path) -> None:
    run = closed / "run"
    writer = sqlite3.connect(run / "run.sqlite")
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute(MORE)
    writer.commit()
    close(closed)
    try:
        assert metrics(run)["added"] == [(2, 1.0)]
    finally:
        if os.geteuid() == 0:
            subprocess.run(["umount", "--lazy", str(closed)], check=False)
        writer.close()
