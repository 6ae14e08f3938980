"""TOML that is printed is read back as the same config."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from spadework.cli import main
from spadework.config import RunConfig
from spadework.config.descriptions import descriptions
from spadework.config.differences import config_changes, unlike_defaults
from spadework.config.files import (
    default_config,
    dump_config,
    load_config,
    override_config,
    parse_config,
    shipped_configs,
)
from spadework.config.toml import toml_text
from spadework.errors import ConfigError

SCALARS = some.booleans() | some.integers(-(2**63), 2**63 - 1) | some.floats(allow_nan=False) | some.text()
VALUES = some.recursive(SCALARS, lambda inner: some.lists(inner) | some.dictionaries(some.text(), inner), max_leaves=8)


@given(some.dictionaries(some.text(), VALUES))
def test_any_data_comes_back(data: dict[str, object]) -> None:
    assert tomllib.loads(toml_text(data)) == data


@pytest.mark.parametrize("name", shipped_configs())
def test_every_shipped_config_comes_back(name: str) -> None:
    config = load_config(name)
    for data in (dump_config(config), unlike_defaults(config)):
        for comments in (None, descriptions()):
            assert parse_config(tomllib.loads(toml_text(data, comments)), name) == config
    assert unlike_defaults(default_config()) == {}


def test_tables_in_lists_and_unset_settings(tmp_path: Path) -> None:
    changes = [
        'play.few_shots=[{observation="a\\tb", reply="\\u007f"}]',
        'endpoint.extra={chat_template_kwargs={enable_thinking=false}, "a b"=1}',
        'designer.endpoint.urls=["http://localhost:1/v1"]',
    ]
    config = override_config(RunConfig(), changes)
    path = tmp_path / "c.toml"
    path.write_text(toml_text(dump_config(config), descriptions()))
    assert load_config(str(path)) == config
    assert "# threads is unset" in path.read_text()
    assert "threads" not in toml_text(dump_config(config))


def test_every_setting_is_described() -> None:
    known = descriptions()
    assert known["run.seed"] == "Every draw of the run comes from it."
    assert "designer.endpoint.urls" in known
    flat = {
        f"{section}.{key}" for section, keys in dump_config(RunConfig()).items() if section != "domain" for key in keys
    }
    assert flat <= set(known)


def test_a_shipped_config_is_listed_shown_and_extended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["configs", "list"]) == 0
    listed = capsys.readouterr().out
    assert "laptop: SPADE on two CPU cores" in listed and "ablations/no-memory: " in listed
    assert main(["configs", "show", "laptop", "--explain", "--set", "run.seed=3"]) == 0
    (tmp_path / "mine.toml").write_text(capsys.readouterr().out)
    mine = load_config(str(tmp_path / "mine.toml"))
    assert mine == load_config("laptop", ["run.seed=3"])
    (tmp_path / "laptop.toml").write_text('extends = "laptop"\n[run]\nseed = 3')
    assert load_config(str(tmp_path / "laptop.toml")) == mine
    (tmp_path / "over.toml").write_text('extends = "laptop.toml"\n')
    assert load_config(str(tmp_path / "over.toml")).run.seed == 3, "a file beside wins over a shipped one"


def test_changes_tell_what_a_run_may_go_on_under() -> None:
    overrides = ["run.cycles=3", "track.project=x", "update.lr=1.0", "play.concurrency=2"]
    found = config_changes(default_config(), override_config(default_config(), overrides))
    assert [(str(one), one.free) for one in found] == [
        ("run.cycles: 400 -> 3", True),
        ("play.concurrency: 256 -> 2", True),
        ("update.lr: 1e-06 -> 1.0", False),
        ("track.project: 'spadework' -> 'x'", True),
    ]


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["run.seed=1", "designer.enviroments=3"], "--set designer.enviroments=3: no such key; the nearest valid key"),
        (["plya.episodes=3"], "--set plya.episodes=3: plya: no such key"),
        (["play.episodes=many"], "--set play.episodes=many: Input should be a valid integer"),
        (["reward.plateau.low=0.9"], "--set reward.plateau.low=0.9: reward.plateau: low is above high"),
        (["endpoint.extra.a=1", "endpoint.urls=['x']"], "--set endpoint.urls=['x']"),
    ],
)
def test_a_mistake_in_an_override_is_blamed_on_it(overrides: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('extends = "scripted"')
    for build in (
        lambda: load_config(str(tmp_path / "mine.toml"), overrides),
        lambda: override_config(RunConfig(), overrides),
    ):
        with pytest.raises(ConfigError) as caught:
            build()
        assert said in str(caught.value)
        assert "mine.toml" not in str(caught.value)


def test_a_mistake_in_the_file_is_blamed_on_the_file(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("[reward.plateau]\nlow = 0.9")
    with pytest.raises(ConfigError, match=r"mine\.toml: reward\.plateau: low is above high"):
        load_config(str(tmp_path / "mine.toml"), ["run.seed=1"])
