"""A run with adaptive allocation, several plays a seed and per-seed plateaus: stopped early, stored, and repeatable."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.runs import story

from spadework.cli import main
from spadework.runs.store import RunStore
from spadework.selfplay.rescore import moved, rescore

SETTINGS = {
    "run.cycles": 2,
    "run.deterministic": "true",
    "designer.environments": 2,
    "validation.seeds": 2,
    "validation.panel": "false",
    "play.episodes": 12,
    "play.allocation": "adaptive",
    "play.start_episodes": 4,
    "play.batch_episodes": 4,
    "play.plays_per_seed": 2,
    "play.tolerance": 0.6,
    "reward.per_seed": "true",
}


def train(path: Path) -> Path:
    overrides = [word for key, value in SETTINGS.items() for word in ("--set", f"{key}={value}")]
    assert main(["train", "scripted", *overrides, "--run", str(path)]) == 0
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("runs") / "adaptive")


def test_environments_stop_at_looks_and_both_arms_together(run: Path) -> None:
    store = RunStore.read(run)
    plays, regrets, metrics = store.rows("plays"), store.rows("regrets"), store.metrics()
    store.close()
    assert {row["episodes"] for row in plays} <= {4, 8, 12}
    assert min(row["episodes"] for row in plays) < 12
    counts = {(row["environment_id"], row["cycle"], row["arm"]): row["episodes"] for row in plays}
    hinted = {(name, cycle): n for (name, cycle, arm), n in counts.items() if arm == "hinted"}
    assert all(counts[(*key, "unhinted")] == n for key, n in hinted.items())
    assert {(row["environment_id"], row["cycle"]) for row in regrets} == set(hinted)
    for row in regrets:
        assert row["n"] <= hinted[row["environment_id"], row["cycle"]] / 2
        assert row["low"] <= row["mean"] <= row["high"]
    (_, low), (_, mean), (_, high) = (metrics[f"designer/regret{end}"][0] for end in ("_low", "", "_high"))
    assert low < mean < high
    assert "pool/seed_spread" in metrics


def test_it_repeats_itself_and_scores_the_same_again(run: Path, tmp_path: Path) -> None:
    assert story(train(tmp_path / "again")) == story(run)
    store = RunStore.read(run)
    again = rescore(store, store.config)
    other = rescore(
        store, store.config.model_copy(update={"reward": store.config.reward.model_copy(update={"per_seed": False})})
    )
    assert again.differing_cycles == ()
    assert not moved(again, rescore(store, store.config)).designs
    assert moved(again, other).designs
    store.close()


def test_mastered_environments_retire(tmp_path: Path) -> None:
    overrides = ["run.cycles=3", "designer.every=3", "designer.environments=2", "validation.seeds=2", "play.episodes=2"]
    words = [word for one in [*overrides, "pool.retire=true", "validation.panel=false"] for word in ("--set", one)]
    assert main(["train", "scripted", *words, "--run", str(tmp_path / "run")]) == 0
    store = RunStore.read(tmp_path / "run")
    plays, metrics = store.rows("plays"), store.metrics()
    store.close()
    rates = {(row["environment_id"], row["cycle"]): row["win_rate"] for row in plays if row["arm"] == "unhinted"}
    for (name, cycle), rate in rates.items():
        if rate == 1.0:
            assert (name, cycle + 1) not in rates
    mastered = sum(rate == 1.0 for rate in rates.values())
    assert sum(value for _, value in metrics["pool/mastered"]) == mastered
