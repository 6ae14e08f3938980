"""From a config to objects, where that is more than handing values on."""

from __future__ import annotations

import pytest

from spadework.build import build_play, check_trains
from spadework.config.files import load_config
from spadework.errors import ConfigError


def test_a_prompt_of_the_configs_own_is_not_for_another_domain() -> None:
    shot = "[{observation = 'Say yes.', reply = 'yes'}]"
    config = load_config("laptop", [f"play.few_shots={shot}"])
    games, tools = build_play(config), build_play(config, "tool_use")
    assert config.play.system is not None and config.play.few_shots
    assert games.opening[0]["content"] == config.play.system
    assert len(games.opening) == 1 + 2 * len(config.play.few_shots)
    assert len(tools.opening) == 1 and "tool" in tools.opening[0]["content"]


@pytest.mark.parametrize("setting", ["update.by_role=true", 'update.ratio="sequence"', "update.entropy_coef=0.01"])
def test_what_a_tinker_server_cannot_do_is_refused_by_name(setting: str) -> None:
    common = ["model.name=tinker:some-model", "play.temperature=1", "designer.temperature=1", "warmup.enabled=false"]
    common += ["run.deterministic=false", "designer.grammar=false"]
    check_trains(load_config("games-4b", common))
    with pytest.raises(ConfigError, match=setting.partition("=")[0]):
        check_trains(load_config("games-4b", [*common, setting]))
