"""Old names of settings are understood wherever a config comes from, and each use is said once."""

from __future__ import annotations

import sqlite3
import warnings
from pathlib import Path

import pytest

from spadework.cli import main
from spadework.config import RunConfig
from spadework.config import files as config_files
from spadework.config.files import load_config, override_config, parse_stored_config
from spadework.config.renamed import OldSetting, Removed, with_current_names
from spadework.errors import ConfigWarning

TABLE = {
    "play.games": "play.episodes",
    "players.turns": "play.max_turns",
    "play.shuffle": Removed(False, "Nothing is shuffled any more."),
    "reward.low": "reward.timeout",
}


@pytest.fixture
def renamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_files, "with_current_names", lambda data: with_current_names(data, TABLE))


def test_keys_move_and_go() -> None:
    data = {"play": {"games": 3, "shuffle": True}, "players": {"turns": 2}, "run": {"seed": 1}}
    current, used = with_current_names(data, TABLE)
    assert current == {"play": {"episodes": 3, "max_turns": 2}, "run": {"seed": 1}}
    assert used == [
        OldSetting("play.games", 3, "play.episodes"),
        OldSetting("players.turns", 2, "play.max_turns"),
        OldSetting("play.shuffle", True, TABLE["play.shuffle"]),
    ]
    assert data["play"] == {"games": 3, "shuffle": True}
    assert [old.loses_something for old in used] == [False, False, True]


def test_a_whole_section_moves_and_a_new_name_wins() -> None:
    data = {"old": {"a": 1, "b": {"c": 2}}, "new": {"a": 9, "b": {"d": 4}}}
    assert with_current_names(data, {"old": "new"})[0] == {"new": {"a": 9, "b": {"d": 4, "c": 2}}}


@pytest.mark.usefixtures("renamed")
def test_a_file_warns_of_each_use_and_its_extension_wins(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text("[play]\ngames = 3\nshuffle = true")
    (tmp_path / "child.toml").write_text('extends = "base.toml"\n[play]\nepisodes = 4')
    with pytest.warns(ConfigWarning) as told:
        config = load_config(str(tmp_path / "child.toml"), ["reward.low=-0.1", "play.shuffle=true"])
    assert (config.play.episodes, config.reward.timeout) == (4, -0.1)
    said = [str(one.message) for one in told]
    assert len(said) == 4
    assert "base.toml: play.games is now called play.episodes" in said[0]
    assert "play.shuffle is no longer a setting and is ignored. Nothing is shuffled" in said[1]
    assert said[2] == "--set reward.low=-0.1: reward.low is now called reward.timeout; rename it"


@pytest.mark.usefixtures("renamed")
def test_a_stored_config_is_silent_unless_something_is_lost() -> None:
    stored = {"play": {"games": 3, "shuffle": False}}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parse_stored_config(stored, "run").play.episodes == 3
        assert override_config(RunConfig(), ["run.seed=1"]).run.seed == 1
    stored["play"]["shuffle"] = True
    with pytest.warns(ConfigWarning, match=r"run: play\.shuffle is no longer a setting"):
        parse_stored_config(stored, "run")


@pytest.mark.usefixtures("renamed")
def test_the_command_line_says_it_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.toml").write_text('extends = "scripted"\n[play]\ngames = 3')
    assert main(["train", str(tmp_path / "mine.toml"), "--dry-run"]) == 0
    said = capsys.readouterr()
    assert "episodes = 3" in said.out
    assert said.err == f"spadework: {tmp_path}/mine.toml: play.games is now called play.episodes; rename it\n"


@pytest.mark.usefixtures("renamed")
def test_a_run_with_old_names_opens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from spadework.runs.store import RunStore

    RunStore.create(tmp_path / "run", RunConfig()).close()
    with sqlite3.connect(tmp_path / "run" / "run.sqlite") as database:
        database.execute("""UPDATE meta SET value = '{"play": {"games": 7}}' WHERE key = 'config'""")
    store = RunStore.read(tmp_path / "run")
    assert store.config.play.episodes == 7
    store.close()
    assert capsys.readouterr().err == ""


def test_an_older_run_goes_on_as_it_began() -> None:
    stored = {"validation": {"seeds": 4}}
    assert parse_stored_config(stored, "run").validation.grading is False
    assert parse_stored_config({"validation": {"grading": True}}, "run").validation.grading is True
    assert stored == {"validation": {"seeds": 4}}
    assert RunConfig().validation.grading is True
