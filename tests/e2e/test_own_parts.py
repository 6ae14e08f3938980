"""Rewards and estimators of the user's own, from one file each, through whole runs; and what is said of a wrong one."""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from spadework.cli import main
from spadework.config.files import load_config, override_config
from spadework.resources import shipped
from spadework.runs.reading import cycle_episodes, read_designs
from spadework.runs.store import RunStore
from spadework.runs.tables import read_sequences
from spadework.selfplay.score.rescore import moved, rescore, stored_scores
from spadework.selfplay.score.rewards import build_reward
from spadework.types import Episode

SIZES = ["run.cycles=2", "run.deterministic=true", "designer.environments=2", "designer.every=1", "reward.delay=1"]
SIZES += ["validation.seeds=2", "validation.panel=false", "play.episodes=4"]


def words(*settings: str) -> list[str]:
    return [word for setting in settings for word in ("--set", setting)]


@pytest.fixture(autouse=True)
def beside_the_examples(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(shipped("examples"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    for name in ("plugin_reward", "plugin_advantage"):
        sys.modules.pop(name, None)


def episodes_of(store: RunStore) -> dict[str, dict[str, list[Episode]]]:
    """Environment -> arm -> its episodes in the cycle of its design."""
    found: dict[str, dict[str, list[Episode]]] = defaultdict(lambda: defaultdict(list))
    made = {design.environment_id: design.cycle for design in read_designs(store)}
    for cycle, episodes in cycle_episodes(store):
        for episode in episodes:
            if made.get(episode.environment_id) == cycle:
                found[episode.environment_id][episode.arm].append(episode)
    return found


def test_a_reward_of_ones_own_pays_a_run(tmp_path: Path) -> None:
    own = ["reward.type=plugin_reward:Target", "reward.Target.rate=0.25"]
    assert main(["train", "scripted", *words(*SIZES, *own), "--run", str(tmp_path / "run")]) == 0
    store = RunStore.read(tmp_path / "run")
    assert store.config.reward.type == "plugin_reward:Target"
    designs, scores, played = read_designs(store), stored_scores(store), episodes_of(store)
    again = rescore(store, store.config)
    other = rescore(store, override_config(store.config, ["reward.type=regret"]))
    store.close()
    accepted = [design for design in designs if design.accepted]
    assert accepted
    for design in accepted:
        unhinted = played[design.environment_id or ""]["unhinted"]
        rate = math.fsum(episode.return_ for episode in unhinted) / len(unhinted)
        assert scores[design.id].raw == pytest.approx(1 - abs(rate - 0.25))
    assert again.scores == scores
    assert moved(again, other).designs
    assert main(["train", "--resume", "--run", str(tmp_path / "run")]) == 0


def test_a_sum_with_one_of_ones_own_sees_single_plays_of_both_arms(tmp_path: Path) -> None:
    own = ["reward.type=sum", 'reward.sum={"plugin_reward:HintHelps" = 1.0, spread = 0.5}']
    assert main(["train", "scripted", *words(*SIZES, *own), "--run", str(tmp_path / "run")]) == 0
    store = RunStore.read(tmp_path / "run")
    designs, scores, played = read_designs(store), stored_scores(store), episodes_of(store)
    store.close()
    for design in designs:
        if not design.accepted:
            continue
        arms = played[design.environment_id or ""]
        hinted, unhinted = ({e.seed: e.return_ for e in arms[arm]} for arm in ("hinted", "unhinted"))
        signs = [(hinted[seed] > unhinted[seed]) - (hinted[seed] < unhinted[seed]) for seed in hinted]
        mean = math.fsum(unhinted.values()) / 4
        variance = math.fsum((value - mean) ** 2 for value in unhinted.values()) / 4
        expected = math.fsum(signs) / 4 + 0.5 * math.exp(-((variance - 0.25) ** 2) / 0.02)
        assert scores[design.id].raw == pytest.approx(expected)


def test_an_estimator_of_ones_own_trains_a_run(tmp_path: Path) -> None:
    own = ["agent.advantage=plugin_advantage:Ranks", "update.average=sample_mean"]
    assert main(["train", "scripted", *words(*SIZES, *own), "--run", str(tmp_path / "run")]) == 0
    store = RunStore.read(tmp_path / "run")
    checked = 0
    for path, (_, episodes) in zip(store.sequence_files(), cycle_episodes(store), strict=True):
        rows = read_sequences(path)
        groups = defaultdict(list)
        for episode in episodes:
            groups[episode.group_id].append(episode)
        samples = len({row.source_id for row in rows})
        for row in rows:
            if row.role != "agent":
                continue
            returns = {episode.id: episode.return_ for episode in groups[row.group_id]}
            own = returns[row.source_id]
            rank = sum((own > other) - (own < other) for other in returns.values()) / (len(returns) - 1)
            assert math.fsum(row.advantages) == pytest.approx(rank / samples)
            checked += 1
    assert rescore(store, store.config).differing_cycles == ()
    store.close()
    assert checked


def test_a_part_is_found_in_a_file_wherever_it_lies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = shipped("examples") / "plugin_reward.py"
    monkeypatch.chdir(tmp_path)
    config = override_config(load_config("scripted"), [f"reward.type={file}:Target", "reward.Target.rate=0.5"])
    reward = build_reward(config.reward)
    assert type(reward).__name__ == "Target" and reward.settings.rate == 0.5


def test_an_installed_part_goes_by_its_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = tmp_path / "target_reward-1.0.dist-info"
    made.mkdir()
    (made / "METADATA").write_text("Metadata-Version: 2.1\nName: target-reward\nVersion: 1.0\n")
    (made / "entry_points.txt").write_text("[spadework.rewards]\ntarget = plugin_reward:Target\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    config = override_config(load_config("scripted"), ["reward.type=target", "reward.target.rate=0.5"])
    reward = build_reward(config.reward)
    assert type(reward).__name__ == "Target" and reward.settings.rate == 0.5


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["reward.type=bland"], ["scripted.toml", "reward.type", "nearest is 'blend'"]),
        (["reward.type=plugin_reward:Tagret"], ["scripted.toml", "reward.type", "Tagret"]),
        (
            ["reward.type=plugin_reward:Target", "reward.Target.rte=0.5"],
            ["scripted.toml", "reward.Target.rte: no such key", "nearest valid key is rate"],
        ),
        (
            ["reward.type=plugin_reward:Target", "reward.Target.rate=2.0"],
            ["scripted.toml", "reward.Target.rate", "less than or equal to 1"],
        ),
        (["reward.type=plugin_reward:Target", "reward.Traget.rate=0.5"], ["reward.Traget", "reward.Target"]),
        (["agent.advantage=z_scroe"], ["scripted.toml", "agent.advantage", "'z_score'"]),
        (["update.average=token-mean"], ["scripted.toml", "update.average", "'token_mean'"]),
    ],
)
@pytest.mark.parametrize("dry", [True, False])
def test_what_is_wrong_is_told_before_anything_starts(
    settings: list[str], said: list[str], dry: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start = ["--dry-run"] if dry else ["--run", str(tmp_path / "run")]
    assert main(["train", "scripted", *words(*settings), *start]) == 2
    told = capsys.readouterr().err
    assert all(part in told for part in said), told
    assert not (tmp_path / "run").exists()
