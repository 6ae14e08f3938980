"""Configs: files, overrides, and errors that name file, key and the nearest valid key."""

from pathlib import Path

import pytest

from spadework.config import RunConfig
from spadework.config.files import dump_config, load_config, parse_config
from spadework.errors import ConfigError
from spadework.resources import shipped

CONFIGS = sorted(shipped("configs").rglob("*.toml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_shipped_config_is_valid(path):
    config = load_config(str(path))
    assert parse_config(dump_config(config), "dump") == config


def test_shipped_configs_go_by_name():
    assert load_config("scripted").model.name == "scripted"
    with pytest.raises(ConfigError, match=r"no-such.*scripted"):
        load_config("no-such")


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[play]\nepsodes = 3", ["c.toml", "play.epsodes", "play.episodes"]),
        ("[plya]\nepisodes = 3", ["c.toml", "plya", "nearest valid key is play"]),
        ("[play]\nepisodes = 'x'", ["c.toml", "play.episodes", "integer"]),
        ("[play]\nepisodes = 0", ["play.episodes", "greater than or equal to 1"]),
        ("[reward]\ntype = 'x'", ["reward.type", "'blend'"]),
        ("[reward]\nplateau_low = 0.9", ["c.toml", "plateau_low is above"]),
        ("[designer]\nenvironments = 0", ["nothing to play"]),
        ("[play\n", ["c.toml", "not valid TOML"]),
        ("extends = 'nothing.toml'", ["extends", "nothing.toml"]),
        ("extends = 'c.toml'", ["extends itself"]),
    ],
)
def test_errors_say_where_and_what_to_do(tmp_path, text, said):
    with pytest.raises(ConfigError) as caught:
        load_config(write(tmp_path / "c.toml", text))
    for words in said:
        assert words in str(caught.value)


def test_overrides_and_inheritance(tmp_path):
    write(tmp_path / "base.toml", "[play]\nepisodes = 3\nmax_turns = 2\n[run]\nseed = 1")
    child = write(tmp_path / "child.toml", 'extends = "base.toml"\n[play]\nepisodes = 4')
    config = load_config(child, ["run.seed=9", "model.name=scripted", "play.temperature=1", "pool.anchors=['a', 'b']"])
    assert (config.play.episodes, config.play.max_turns, config.run.seed) == (4, 2, 9)
    assert (config.model.name, config.play.temperature, config.pool.anchors) == ("scripted", 1.0, ("a", "b"))
    for wrong in ("run.seed", "=3", "domain.x=1"):
        with pytest.raises(ConfigError):
            load_config(child, [wrong])


def test_the_defaults_are_the_papers():
    config = RunConfig()
    assert (config.run.cycles, config.designer.environments, config.designer.every, config.delay) == (400, 24, 4, 4)
    assert (config.play.episodes, config.hinted_episodes, config.play.max_turns) == (16, 16, 25)
    assert (config.update.lr, config.update.clip_low, config.update.clip_high) == (1e-6, 0.2, 0.28)
    assert (config.update.beta1, config.update.beta2, config.update.weight_decay) == (0.9, 0.98, 0.1)
