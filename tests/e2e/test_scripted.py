"""The whole loop with the scripted policy: what a run leaves, and that killing it changes nothing."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest
from tests.runs import cli, start_cli, story

from spadework.runs.store import RunStore
from spadework.runs.tables import read_episodes

SMALL = ("--set", "run.cycles=4", "--set", "run.deterministic=true")


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "a run"
    done = cli("train", "scripted", *SMALL, "--run", path)
    assert done.returncode == 0, done.stderr
    assert "first 2 against last 2 of 4 cycles" in done.stdout
    return path


def test_a_run_can_be_read(unbroken: Path) -> None:
    store = RunStore.read(unbroken)
    environments, scores = store.rows("environments"), store.rows("scores")
    assert store.config.model.name == "scripted"
    assert len(environments) == 6
    assert all(row["design_id"] and row["hint"] for row in environments)
    assert {row["design_id"] for row in environments} == {row["design_id"] for row in scores}
    episodes = [episode for path in store.episode_files() for episode in read_episodes(path)]
    assert len(episodes) == 2 * (3 * 4 * 2) + 2 * (3 * 4)
    assert all(episode.valid for episode in episodes)
    for environment in environments:
        arms = {
            (e.arm, e.index): e.seed
            for e in episodes
            if e.environment_id == environment["id"] and e.cycle == environment["cycle"]
        }
        assert {seed for (arm, _), seed in arms.items() if arm == "hinted"} == {
            seed for (arm, _), seed in arms.items() if arm == "unhinted"
        }
    assert (unbroken / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert len((unbroken / "metrics.jsonl").read_text().splitlines()) == 4
    assert list((unbroken / "tensorboard").glob("events*"))
    store.close()


def test_the_number_goes_up(unbroken: Path) -> None:
    store = RunStore.read(unbroken)
    rates = [value for _, value in store.metrics()["agent/unhinted_win_rate"]]
    store.close()
    assert rates[-1] > rates[0]


def test_the_same_seed_tells_the_same_story(unbroken: Path, tmp_path: Path) -> None:
    assert cli("train", "scripted", *SMALL, "--run", tmp_path / "again").returncode == 0
    assert story(tmp_path / "again") == story(unbroken)


@pytest.mark.parametrize("stage", ["cycle 1/4 play", "cycle 3/4 design", "cycle 4/4 update"])
def test_killed_and_resumed_equals_unbroken(unbroken: Path, tmp_path: Path, stage: str) -> None:
    path = tmp_path / "killed"
    process = start_cli("train", "scripted", *SMALL, "--run", path, PYTHONUNBUFFERED="1")
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(stage):
            break
    process.kill()
    process.wait()
    resumed = cli("train", "--resume", "--run", path)
    assert resumed.returncode == 0, resumed.stderr
    assert story(path) == story(unbroken)
    assert [json.loads(line)["cycle"] for line in (path / "metrics.jsonl").read_text().splitlines()] == [0, 1, 2, 3]


def test_ctrl_c_says_how_to_go_on(tmp_path: Path) -> None:
    path = tmp_path / "run"
    process = start_cli("train", "scripted", *SMALL, "--run", path, PYTHONUNBUFFERED="1")
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("cycle 2/4"):
            break
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said = process.stdout.read()
    assert process.wait(timeout=20) == 130
    assert f"spadework train --resume --run '{path}'" in " ".join(said.split())


def test_changed_settings_are_shown_and_refused_on_resume(unbroken: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    os.system(f"cp -r '{unbroken}' '{path}'")
    for named in ((), ("scripted", *SMALL)):  # the run's own config, or one that is given
        again = ("train", *named, "--set", "run.cycles=5", "--set", "play.episodes=3", "--resume", "--run", path)
        refused = cli(*again)
        assert refused.returncode == 2
        assert "play.episodes: 4 -> 3" in refused.stderr
        assert "--change-config" in refused.stderr
        assert "model.name" not in refused.stderr
    assert cli(*again, "--change-config").returncode == 0
    assert len(story(path)["metrics"]["agent/episodes"]) == 5


def test_a_longer_run_needs_no_flag_and_no_config(unbroken: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    os.system(f"cp -r '{unbroken}' '{path}'")
    done = cli("train", "--resume", "--run", path, "--set", "run.cycles=6")
    assert done.returncode == 0, done.stderr
    assert "run.cycles: 4 -> 6" in done.stdout
    store = RunStore.read(path)
    assert store.config.model.name == "scripted"
    assert len(store.metrics()["agent/episodes"]) == store.config.run.cycles == 6
    store.close()


def test_a_run_directory_is_not_overwritten(unbroken: Path) -> None:
    refused = cli("train", "scripted", *SMALL, "--run", unbroken)
    assert refused.returncode == 2
    assert "--resume" in refused.stderr
    assert "Traceback" not in refused.stderr
