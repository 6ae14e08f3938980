"""From a config to objects, where that is more than handing values on."""

from __future__ import annotations

from spadework.build import build_play
from spadework.config.files import load_config


def test_a_prompt_of_the_configs_own_is_not_for_another_domain() -> None:
    config = load_config("laptop")
    games, tools = build_play(config), build_play(config, "tool_use")
    assert config.play.system is not None and config.play.few_shots
    assert games.opening[0]["content"] == config.play.system
    assert len(games.opening) == 1 + 2 * len(config.play.few_shots)
    assert len(tools.opening) == 1 and "tool" in tools.opening[0]["content"]
