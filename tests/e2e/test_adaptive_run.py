"""A run with adaptive allocation, several plays a seed and per-seed plateaus: stopped early, stored, and repeatable."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.runs import cli, start_cli, story

from spadework.cli import main
from spadework.config.files import override_config
from spadework.runs.store import RunStore
from spadework.selfplay.score.rescore import moved, rescore

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
    "reward.plateau.per_seed": "true",
}


def words(settings: Mapping[str, object]) -> list[str]:
    return [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]


def train(path: Path, settings: Mapping[str, object] = SETTINGS) -> Path:
    assert main(["train", "scripted", *words(settings), "--run", str(path)]) == 0
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("runs") / "adaptive")


def test_environments_stop_at_looks_and_both_arms_together(run: Path) -> None:
    store = RunStore.read(run)
    plays, regrets, metrics = store.rows("plays"), store.rows("regrets"), store.metrics()
    store.close()
    assert min(row["episodes"] for row in plays) < 12
    counts = {(row["environment_id"], row["cycle"], row["arm"]): row["episodes"] for row in plays}
    hinted = {(name, cycle): n for (name, cycle, arm), n in counts.items() if arm == "hinted"}
    assert set(hinted.values()) <= {4, 8, 12}
    assert all(n % 2 == 0 and 4 <= n <= 12 for n in counts.values())
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
    other = rescore(store, override_config(store.config, ["reward.plateau.per_seed=false"]))
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


EVERYTHING = {
    **SETTINGS,
    "run.cycles": 4,
    "play.episodes": 8,
    "designer.every": 2,
    "reward.delay": 1,
    "reward.novelty": 0.2,
    "memory.size": 20,
    "pool.replay": 1,
    "validation.max_cosine": 0.999,
}
"""Delay, memory, adaptive allocation, replay and novelty in one run: all that a checkpoint has to hold."""


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("runs") / "everything", EVERYTHING)


def test_old_environments_are_replayed_and_novelty_is_paid(everything: Path) -> None:
    store = RunStore.read(everything)
    metrics, designs, scores = store.metrics(), store.rows("designs"), store.rows("scores")
    again = rescore(store, store.config)
    plain = rescore(store, override_config(store.config, ["reward.novelty=0.0"]))
    store.close()
    assert "replay/lost" in metrics
    accepted = {row["id"]: row["novelty"] for row in designs if row["environment_id"]}
    assert accepted and all(0 <= novelty <= 1 for novelty in accepted.values())
    assert again.differing_cycles == ()
    raws = {row["design_id"]: row["raw"] for row in scores}
    for name, novelty in accepted.items():
        assert raws[name] == pytest.approx(plain.scores[name].raw + 0.2 * novelty)


@pytest.mark.parametrize("stage", ["cycle 2/4 play", "cycle 3/4 design", "cycle 3/4 play", "cycle 4/4 update"])
def test_killed_at_a_stage_and_resumed_equals_unbroken(everything: Path, tmp_path: Path, stage: str) -> None:
    process = start_cli("train", "scripted", *words(EVERYTHING), "--run", tmp_path / "run", PYTHONUNBUFFERED="1")
    assert process.stdout is not None
    assert any(line.startswith(stage) for line in process.stdout)
    process.kill()
    process.wait()
    assert cli("train", "--resume", "--run", tmp_path / "run").returncode == 0
    assert story(tmp_path / "run") == story(everything)
