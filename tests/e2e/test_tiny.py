"""The whole loop through torch: a tiny random model designs, plays and is updated; a kill changes nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.runs import cli, start_cli, story

from spadework.runs.store import RunStore
from spadework.runs.tables import read_sequences

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One cache for all runs here: they warm up once."""
    return {"XDG_CACHE_HOME": str(tmp_path_factory.mktemp("warm"))}


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory, warm: dict[str, str]) -> Path:
    path = tmp_path_factory.mktemp("tiny") / "run"
    done = cli("train", "tiny", "--run", path, env={**os.environ, **warm})
    assert done.returncode == 0, done.stderr
    return path


def test_both_roles_are_trained_in_one_batch(unbroken: Path) -> None:
    store = RunStore.read(unbroken)
    rows = [row for path in store.sequence_files() for row in read_sequences(path)]
    metrics = store.metrics()
    designs = store.rows("designs")
    store.close()
    assert {row.role for row in rows} <= {"agent", "designer"}
    assert designs
    assert all(design["findings"] != "[]" for design in designs if not design["environment_id"])
    if rows:
        assert metrics["train/tokens"]
        assert max(value for _, value in metrics["train/logprob_mismatch"]) < 1e-3


@pytest.mark.parametrize("stage", ["cycle 2/3 play", "cycle 3/3 update"])
def test_killed_and_resumed_equals_unbroken(unbroken: Path, warm: dict[str, str], tmp_path: Path, stage: str) -> None:
    path = tmp_path / "killed"
    process = start_cli("train", "tiny", "--run", path, PYTHONUNBUFFERED="1", **warm)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(stage):
            break
    process.kill()
    process.wait()
    resumed = cli("train", "--resume", "--run", path, env={**os.environ, **warm})
    assert resumed.returncode == 0, resumed.stderr
    assert story(path) == story(unbroken)
