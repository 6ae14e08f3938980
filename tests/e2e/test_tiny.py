"""The whole loop through torch: a tiny random model designs, plays and is updated; a kill changes nothing."""

from __future__ import annotations

import os
import subprocess
import sys
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


def test_two_processes_warm_it_up_and_one_goes_on(tmp_path: Path) -> None:
    path, env = tmp_path / "run", {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    train = ["-m", "--", "spadework", "train", "tiny", "--run", path, "--set", "run.cycles=1"]
    sharded = ["--set", "model.shard=true"]
    done = subprocess.run([*torchrun, *train, *sharded], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "warm-up: step" in done.stdout
    assert done.stdout.count(f"run: {path}") == 2, "rank 1 is silent"
    longer = ["train", "tiny", "--resume", "--change-config", "--run", path, "--set", "run.cycles=2"]
    resumed = cli(*longer, env=env)
    assert resumed.returncode == 0, resumed.stderr
    store = RunStore.read(path)
    plays = store.metrics()["agent/unhinted_win_rate"]
    store.close()
    assert [cycle for cycle, _ in plays] == [0, 1]
