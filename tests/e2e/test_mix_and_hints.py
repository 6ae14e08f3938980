"""A run that mixes a fixed pool in and trains its hints: what it records, and that it can be rescored and repeated."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.runs import cli, story

from spadework.resources import shipped
from spadework.runs.store import RunStore
from spadework.runs.tables import read_sequences

SETTINGS = (
    "run.deterministic=true",
    f"pool.source={shipped('examples') / 'environments' / 'games'}",
    "pool.mix=0.4",
    "hint.train=true",
    "reward.centre_below=4",
)


def train(path: Path, cycles: int) -> None:
    arguments = [text for setting in (*SETTINGS, f"run.cycles={cycles}") for text in ("--set", setting)]
    done = cli("train", "scripted", *arguments, "--run", path)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mix") / "run"
    train(path, 4)
    return path


def test_both_origins_are_played_and_told_apart(run: Path) -> None:
    store = RunStore.read(run)
    events = [row for row in store.rows("events") if row["entered"]]
    drawn = [row["cycle"] for row in events if row["why"] == "drawn"]
    assert [drawn.count(cycle) for cycle in range(4)] == [2, 2, 2, 2], "0.4 of 3 designed and 2 drawn"
    metrics = store.metrics()
    for name in ("agent/designed_win_rate", "agent/fixed_win_rate"):
        assert len(metrics[name]) == 4
    fixed = {row["environment_id"] for row in events if row["why"] == "drawn"}
    played = [row for row in store.rows("plays") if row["environment_id"] in fixed and row["arm"] == "unhinted"]
    assert len(played) == 8, "they are played as the designed ones are, and what is played unhinted trains"
    rows = [row for file in store.sequence_files() for row in read_sequences(file)]
    hints = [row for row in rows if row.group_id.startswith("hint/")]
    assert hints and all(row.role == "designer" and row.source_id.endswith("/hint") for row in hints)
    assert sum(value for _, value in metrics["rows/hint"]) >= len(hints)


def test_scoring_it_again_gives_the_same_rows(run: Path) -> None:
    done = cli("rescore", run)
    assert done.returncode == 0, done.stderr + done.stdout


def test_the_same_run_again_is_the_same(run: Path, tmp_path: Path) -> None:
    other = tmp_path / "again"
    train(other, 4)
    assert story(other) == story(run)
