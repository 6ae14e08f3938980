"""The verbs that look at a run, and those that make and play a pool, over the command line."""

from __future__ import annotations

import json
import shutil
import sqlite3
from operator import attrgetter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.runs import story

from spadework.cli import main
from spadework.config.files import override_config
from spadework.domains.games_demo import PROGRAM
from spadework.runs.reading import read_environments
from spadework.runs.store import RunStore
from spadework.runs.tables import read_episodes, read_sequences
from spadework.selfplay.pool.files import load_pool
from spadework.selfplay.score.rescore import moved, rescore, stored_scores

QUICK = [
    *("--set", "run.deterministic=true", "--set", "validation.panel=false", "--set", "validation.seeds=2"),
    *("--set", "designer.environments=2", "--set", "designer.train_rejected=true", "--set", "play.episodes=3"),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "first"
    assert main(["train", "scripted", *QUICK, "--set", "run.cycles=3", "--run", str(path)]) == 0
    return path


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pools") / "pool.parquet"
    assert main(["design", "-n", "3", "--config", "scripted", *QUICK, "--seed", "1", "--out", str(path)]) == 0
    return path


@pytest.fixture
def tampered(run: Path, tmp_path: Path) -> Path:
    path = tmp_path / "tampered"
    shutil.copytree(run, path)
    return path


def test_runs_are_listed_and_shown(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "list", str(run.parent), "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert (listed["model"], listed["cycles"], listed["of"], listed["run"]) == ("scripted", 3, 3, str(run))
    assert main(["runs", "show", str(run), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert "run.cycles: 400 -> 3" in shown["settings"]
    assert shown["attempts"]["accepted"] == len(shown["environments"]) == 4
    assert shown["environments"][0]["cycles_played"] == 2
    assert shown["metrics"] == listed["metrics"]
    assert main(["runs", "list", str(run.parent)]) == main(["runs", "show", str(run)]) == 0
    assert "first" in capsys.readouterr().out


def test_a_broken_run_is_listed_with_its_problem(tampered: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with sqlite3.connect(tampered / "run.sqlite") as database:
        database.execute("DELETE FROM meta")
    assert main(["runs", "list", str(tampered.parent)]) == 0
    assert "holds no config" in capsys.readouterr().out


def test_every_episode_replays(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(run), "--cycle", "0"]) == 0
    assert "OK: 12 of 12" in capsys.readouterr().out
    name = read_episodes(sorted((run / "episodes").iterdir())[2])[0].id
    assert main(["replay", str(run), name]) == 0
    assert "OK: 1 of 1" in capsys.readouterr().out
    assert main(["replay", str(run), "nobody"]) == main(["replay", str(run)]) == 2
    assert main(["replay", str(run), "--cycle", "9"]) == 2


def test_a_changed_program_is_found_out(tampered: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with sqlite3.connect(tampered / "run.sqlite") as database:
        database.execute("UPDATE environments SET source = replace(source, 'Add {', 'Sum {') WHERE cycle = 2")
    assert main(["replay", str(tampered), "--cycle", "0"]) == 0
    capsys.readouterr()
    assert main(["replay", str(tampered), "--cycle", "2"]) == 1
    said = capsys.readouterr().out
    assert "turn 0, observation: was 'Add" in said
    assert "12 differ" in said


def test_without_overrides_every_digit_is_as_stored(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = RunStore.read(run)
    scored = rescore(store, store.config)
    assert scored.scores == stored_scores(store)
    assert len(scored.scores) >= 4
    assert scored.differing_cycles == ()
    assert scored.advantages
    assert moved(scored, scored).designs == moved(scored, scored).groups == ()
    store.close()
    assert main(["rescore", str(run)]) == 0
    assert "moved: 0 of" in capsys.readouterr().out


def test_overrides_move_rewards_and_advantages(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = RunStore.read(run)
    own = rescore(store, store.config)
    regret = rescore(store, override_config(store.config, ["reward.type=regret"]))
    hinted = rescore(store, override_config(store.config, ["agent.train_hinted=true"]))
    store.close()
    assert any(was != now and was.raw != now.raw for _, was, now in moved(own, regret).designs if was and now)
    assert moved(own, regret).groups == ()
    assert moved(own, hinted).groups
    assert all(name.endswith("/hinted") for name in moved(own, hinted).groups)
    assert main(["rescore", str(run), "--set", "reward.type=regret"]) == 0
    assert "->" in capsys.readouterr().out
    assert main(["rescore", str(run), "--set", "reward.tpe=regret"]) == 2
    assert main(["rescore", str(run), "--set", "play.episodes=2"]) == 0
    assert "play.episodes changes nothing here" in capsys.readouterr().out


def test_an_environment_without_a_record_is_named(tampered: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with sqlite3.connect(tampered / "run.sqlite") as database:
        database.execute("DELETE FROM environments WHERE cycle = 2")
    assert main(["rescore", str(tampered)]) == main(["replay", str(tampered), "--all"]) == 2
    said = capsys.readouterr().err
    assert "of which the run has no record" in said and "not replayed: the run has no record of" in said


def test_scores_that_the_settings_do_not_give_are_told(tampered: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with sqlite3.connect(tampered / "run.sqlite") as database:
        database.execute("UPDATE scores SET raw = raw + 1e-15 WHERE design_id = '0-0-0'")
    assert main(["rescore", str(tampered)]) == 1
    assert "0-0-0" in capsys.readouterr().out


def test_rows_are_exported(run: Path, tmp_path: Path) -> None:
    for what, name in [("episodes", "e.jsonl"), ("sequences", "s.parquet"), ("environments", "v.jsonl")]:
        assert main(["export", str(run), "--what", what, "--out", str(tmp_path / name)]) == 0
    store = RunStore.read(run)
    assert read_sequences(tmp_path / "s.parquet") == [
        row for file in store.sequence_files() for row in read_sequences(file)
    ]
    assert len((tmp_path / "e.jsonl").read_text().splitlines()) == sum(row["episodes"] for row in store.rows("plays"))
    assert len((tmp_path / "v.jsonl").read_text().splitlines()) == len(store.rows("environments"))
    assert main(["export", str(run), "--what", "environments", "--out", str(tmp_path / "pool")]) == 0
    programs = sorted((tmp_path / "pool").glob("*.py"))
    assert len(programs) == len(store.rows("environments"))
    assert all("class " in path.read_text("utf-8") for path in programs)
    assert sorted(load_pool(tmp_path / "pool"), key=attrgetter("id")) == sorted(
        {one.id: one for one in read_environments(store)}.values(), key=attrgetter("id")
    )
    store.close()
    assert main(["export", str(run), "--what", "environments", "--out", str(tmp_path / "pool")]) == 2
    assert main(["export", str(run), "--what", "episodes", "--out", str(tmp_path / "pool")]) == 2


def test_a_pool_is_designed_and_gone_on_with(pool: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = load_pool(pool)
    out = tmp_path / "more.parquet"
    shutil.copy(pool, out)
    shutil.copy(pool.with_suffix(".rejected.jsonl"), out.with_suffix(".rejected.jsonl"))
    again = ["design", "-n", "4", "--config", "scripted", *QUICK, "--seed", "1", "--out", str(out)]
    assert main(again) == 0
    assert "accepted" in capsys.readouterr().out
    environments = load_pool(out)
    assert (len(first), environments[:3]) == (3, first)
    slots = {tuple(str(one.design_id).split("-")[:2]) for one in environments}
    assert len(slots) == len(environments) == 4
    assert all(one.hint and one.domain == "games" for one in environments)
    rejected = [json.loads(line) for line in out.with_suffix(".rejected.jsonl").read_text().splitlines()]
    assert all(row["outcome"] != "accepted" and (row["findings"] or row["fault"]) for row in rejected)
    before = out.read_bytes()
    assert main(again) == 0
    assert out.read_bytes() == before
    out.with_suffix(".rejected.jsonl").write_text('{"id": "0-0')
    assert main(again) == 2
    assert main([*again, "--set", "designer.environments=0", "--set", "pool.source=x"]) == 2


def test_both_arms_are_played_on_the_same_seeds(pool: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "played.parquet"
    assert main(["play", str(pool), "--config", "scripted", "-n", "2", "--out", str(out)]) == 0
    assert load_pool(pool)[0].id in capsys.readouterr().out
    episodes = read_episodes(out)
    seeds = {arm: {(e.environment_id, e.seed) for e in episodes if e.arm == arm} for arm in ("hinted", "unhinted")}
    assert len(episodes) == 12
    assert seeds["hinted"] == seeds["unhinted"]


def test_a_broken_program_says_why_and_a_program_is_called_by_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken, sound = tmp_path / "broken.py", tmp_path / "sums.py"
    broken.write_text("x = 1\n")
    sound.write_text(PROGRAM.format(low=1, high=9))
    assert main(["play", str(broken), "-n", "2", "--set", "model.name=scripted"]) == 2
    said = capsys.readouterr()
    assert "all 2 episodes failed: 2 x broken.py: program ENV002" in said.err and "win rate" not in said.out
    assert main(["play", str(broken), str(sound), "-n", "2", "--set", "model.name=scripted"]) == 1
    told = capsys.readouterr().out
    assert "2 x broken.py: program ENV002" in told
    (row,) = [line.split() for line in told.splitlines() if line.startswith("sums.py")]
    assert row[:3] == ["sums.py", "–", "2"] and row[-1] == "0"
    assert main(["play", str(sound), "-n", "1", "--config", "laptop", "--set", "model.name=scripted"]) == 0


def test_a_person_plays(pool: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    prompts: list[str] = []
    monkeypatch.setattr("builtins.input", lambda prompt: (prompts.append(prompt), "1")[1])
    assert main(["play", str(pool), "--config", "scripted", "--human", "--arm", "hinted"]) == 0
    said = capsys.readouterr().out
    assert "Add " in said
    assert "HINT: " in said
    assert "truncated after 2 turns: return 0" in said
    assert r"a line is sent as \boxed{LINE}" in said
    assert prompts == ["(2 turns left) > ", "(1 turn left) > "]


def test_episodes_are_printed_on_request(pool: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", str(pool), "--config", "scripted", "-n", "1", "--arm", "unhinted", "--transcript"]) == 0
    said = capsys.readouterr().out
    assert said.count(", unhinted, seed ") == len(load_pool(pool))
    assert "--- turn 1: the agent" in said and "\\boxed{" in said


@pytest.mark.parametrize("replacement", ["true", "false"])
def test_a_run_on_a_fixed_pool_is_the_same_when_it_is_interrupted(pool: Path, tmp_path: Path, replacement: str) -> None:
    fixed = [*QUICK, "--set", "designer.environments=0", "--set", f"pool.source={pool}", "--set", "pool.per_cycle=2"]
    fixed += ["--set", f"pool.replacement={replacement}", "--set", "play.episodes=1"]
    unbroken, resumed = tmp_path / "unbroken", tmp_path / "resumed"
    assert main(["train", "scripted", *fixed, "--set", "run.cycles=3", "--run", str(unbroken)]) == 0
    assert main(["train", "scripted", *fixed, "--set", "run.cycles=1", "--run", str(resumed)]) == 0
    more = ["--set", "run.cycles=3", "--resume", "--change-config"]
    assert main(["train", "scripted", *fixed, *more, "--run", str(resumed)]) == 0
    assert story(resumed) == story(unbroken)
    known = {environment.id for environment in load_pool(pool)}
    episodes = pq.read_table(unbroken / "episodes").to_pylist()
    played = [{e["environment_id"] for e in episodes if e["cycle"] == cycle} for cycle in range(3)]
    assert all(len(names) == 2 and names <= known for names in played)
    assert replacement == "true" or played[0] | played[1] == known
    assert main(["rescore", str(unbroken)]) == 0
