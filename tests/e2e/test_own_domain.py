"""A domain from a file of the user's own: the example trains, replays, is checked and shown, without a change of ours."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.runs import cli, start_cli, story

from spadework.resources import shipped
from spadework.runs.store import RunStore
from spadework.runs.tables import read_episodes

NAME = f"{shipped('examples') / 'plugin_domain.py'}:ADVENTURE"
SMALL = ("--set", "run.cycles=3", "--set", "run.deterministic=true")


@pytest.fixture(scope="module")
def adventure(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "adventure"
    done = cli("train", "scripted", "--set", f"domain={NAME}", *SMALL, "--run", path)
    assert done.returncode == 0, done.stderr
    return path


def test_it_trains_with_its_own_prompts_actions_and_checks(adventure: Path) -> None:
    store = RunStore.read(adventure)
    designs, environments = store.rows("designs"), store.rows("environments")
    episodes = [episode for file in store.episode_files() for episode in read_episodes(file)]
    assert store.config.domain == NAME and store.config.designer.skills == ("Navigation", "Planning")
    store.close()
    assert {row["domain"] for row in environments} == {NAME} and len(environments) >= 3
    assert {row["skill"] for row in designs} == {"Navigation", "Planning"}
    assert any("ADV001 the program never sets self.room" in row["findings"] for row in designs)
    assert {row["variant"] for row in designs} <= {"cellar", "harbour", "greenhouse", "attic"}
    assert all(episode.valid for episode in episodes)
    actions = {turn.action for episode in episodes for turn in episode.turns}
    assert "[wait]" in actions and any(action.startswith("[take ") for action in actions)
    assert {episode.win for episode in episodes} == {True, False}


def test_killed_and_resumed_equals_unbroken(adventure: Path, tmp_path: Path) -> None:
    path = tmp_path / "killed"
    process = start_cli("train", "scripted", "--set", f"domain={NAME}", *SMALL, "--run", path, PYTHONUNBUFFERED="1")
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("cycle 2/3 play"):
            break
    process.kill()
    process.wait()
    resumed = cli("train", "--resume", "--run", path)
    assert resumed.returncode == 0, resumed.stderr
    assert story(path) == story(adventure)


def test_it_is_replayed_and_its_states_are_shown(adventure: Path) -> None:
    done = cli("replay", adventure, "--all")
    assert done.returncode == 0, done.stdout
    store = RunStore.read(adventure)
    won = next(e for file in store.episode_files() for e in read_episodes(file) if e.win)
    store.close()
    shown = cli("replay", adventure, won.id, "--states").stdout
    assert "call 'go'" in shown and '"what": ' in shown and 'room: "hall" -> "store"' in shown


def test_programs_are_checked_as_its_own(adventure: Path, tmp_path: Path) -> None:
    store = RunStore.read(adventure)
    source = store.query("SELECT source FROM environments LIMIT 1")[0]["source"]
    store.close()
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text(source)
    bad.write_text(source.replace("self.room", "self.spot"))
    assert cli("check", good, "--domain", NAME).returncode == 0
    refused = cli("check", bad, "--domain", NAME, "--json")
    assert refused.returncode == 1
    assert "ADV001" in {finding["code"] for finding in json.loads(refused.stdout)["findings"]}


def test_a_run_can_be_read_where_its_domain_is_gone(tmp_path: Path) -> None:
    examples, run = shipped("examples"), tmp_path / "run"
    shutil.copy(examples / "plugin_domain.py", tmp_path)
    shutil.copytree(examples / "plugin_domain_prompts", tmp_path / "plugin_domain_prompts")
    file = tmp_path / "plugin_domain.py"
    domain = ("--set", f"domain={file}:ADVENTURE")
    assert cli("train", "scripted", *domain, "--set", "run.cycles=1", "--run", run).returncode == 0
    file.unlink()
    for command in (
        ("runs", "show", run),
        ("replay", run, "--all"),
        ("report", run, "--out", tmp_path / "report.html"),
    ):
        done = cli(*command)
        assert done.returncode == 0, (command, done.stderr)
    lost = cli("train", "--resume", "--run", run)
    assert lost.returncode == 2 and "there is no file" in lost.stderr and "Traceback" not in lost.stderr


def test_a_misspelt_domain_is_told_before_anything_starts() -> None:
    done = cli("train", "scripted", "--dry-run", "--set", "domain=gams")
    assert done.returncode == 2
    assert "--set domain=gams: there is no domain 'gams'; the nearest is 'games'" in done.stderr
