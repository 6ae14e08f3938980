"""Configs: files, overrides, and errors that name file, key and the nearest valid key."""

from pathlib import Path

import pytest

from spadework.cli import main
from spadework.config import DifficultySection, RunConfig
from spadework.config.files import dump_config, load_config, override_config, parse_config
from spadework.errors import ConfigError
from spadework.resources import shipped

CONFIGS = sorted(shipped("configs").rglob("*.toml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_shipped_config_is_valid(path):
    config = load_config(str(path))
    assert parse_config(dump_config(config), "dump") == config


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_shipped_config_passes_a_dry_run(path, capsys):
    assert main(["train", str(path), "--dry-run"]) == 0
    assert "# Settings that differ from the defaults" in capsys.readouterr().out


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
        ("[reward]\nplateau_low = 0.9", ["c.toml", "reward.plateau", "low is above"]),
        ("[reward.plateau]\nlwo = 0.9", ["c.toml", "reward.plateau.lwo", "nearest valid key is reward.plateau.low"]),
        ("[reward]\nplateua = 0.9", ["c.toml", "reward.plateua", "nearest valid key is reward.plateau"]),
        ("[reward]\ntype = 'sum'", ["c.toml", "reward", "adds up"]),
        ("[agent]\nadvantage = 'per_seed'", ["c.toml", "per_seed", "play.plays_per_seed"]),
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


def test_keys_of_version_0_1_go_by_their_new_names(tmp_path):
    old = write(
        tmp_path / "old.toml",
        "[reward]\nplateau_low = 0.2\nplateau_high = 0.4\nplateau_slope = 0.1\nblend_plateau = 0.7\n"
        "regret_scale = 0.3\ngamma_fast = 0.9\ngamma_slow = 0.5\nmicro_lp = 'halves'\nper_seed = true\n"
        "[play]\nplays_per_seed = 2",
    )
    reward = load_config(old).reward
    assert (reward.plateau.low, reward.plateau.high, reward.plateau.slope, reward.plateau.per_seed) == (
        0.2,
        0.4,
        0.1,
        True,
    )
    assert (reward.blend.plateau_share, reward.blend.regret_scale) == (0.7, 0.3)
    assert (reward.learning_potential.gamma_fast, reward.learning_potential.gamma_slow) == (0.9, 0.5)
    assert reward.micro_lp.form == "halves"


def test_an_old_key_overrides_the_new_one_that_it_is_written_on_top_of():
    config = override_config(load_config("games-30b"), ["reward.plateau_low=0.3"])
    assert config.reward.plateau.low == 0.3
    assert parse_config(dump_config(config), "dump") == config


def test_tables_of_unknown_parts_are_kept_as_they_are(tmp_path):
    config = load_config(write(tmp_path / "c.toml", "[reward.Mine]\nx = [1, 2]\n[agent.Ours]\ny = 1"))
    assert dump_config(config)["reward"]["Mine"] == {"x": [1, 2]}
    assert dump_config(config)["agent"]["Ours"] == {"y": 1}
    assert parse_config(dump_config(config), "dump") == config


def test_the_papers_runs_are_those_of_their_launchers():
    for path in CONFIGS:
        config = load_config(str(path))
        if config.domain == "tool_use":
            assert config.agent.mask_truncated, path.name
    two = load_config("ablations/two-skills").designer
    assert two.skills == ("Mathematical Reasoning", "Pattern Recognition") and two.active_skills == 2
    launcher = load_config("tool-use-4b-launcher")
    assert launcher.reward.parts == {"regret": 1.0, "spread": 1.0}
    assert (launcher.designer.every, launcher.delay, launcher.play.hinted_episodes) == (32, 32, 4)
    assert load_config("ablations/external-designer").designer.model == "openai:gpt-5.5"
    assert (DifficultySection().gamma_fast, DifficultySection().gamma_slow) == (0.35, 0.15)
