"""Which config a named model gets, what environments are called, and the sign of life of long work."""

from __future__ import annotations

import argparse
import asyncio
import io

import pytest
from rich.console import Console

from spadework.cli import ticker
from spadework.cli.environments.model import add_model, model_config
from spadework.cli.environments.names import shown_names
from spadework.cli.ticker import Ticker
from spadework.config import RunConfig
from spadework.errors import ConfigError
from spadework.types import Environment


def config_of(*given: str) -> RunConfig:
    parser = argparse.ArgumentParser()
    add_model(parser)
    return model_config(parser.parse_args(given))


def test_without_arguments_it_is_the_default_model_with_its_warm_up() -> None:
    config = config_of("--set", "play.episodes=2")
    assert (config.model.name, config.warmup.enabled, config.play.episodes) == ("smollm2-135m", True, 2)


@pytest.mark.parametrize(
    ("given", "name", "urls"),
    [
        (["--set", "model.name=scripted"], "scripted", ()),
        (["--model", "scale"], "scale", ()),
        (["--model", 'a "b"', "--endpoint", "http://x/v1"], 'openai:a "b"', ("http://x/v1",)),
        (["--model", "m", "--endpoint", "http://x", "--endpoint", "http://y"], "openai:m", ("http://x", "http://y")),
    ],
)
def test_another_model_gets_a_config_that_suits_any(given: list[str], name: str, urls: tuple[str, ...]) -> None:
    config = config_of(*given)
    assert (config.model.name, config.endpoint.urls) == (name, urls)
    assert not config.warmup.enabled and not config.play.few_shots and not config.designer.skeleton


def test_a_named_config_stays_the_base() -> None:
    assert config_of("--config", "scale", "--model", "m", "--endpoint", "http://x").designer.skeleton
    with pytest.raises(ConfigError, match="--endpoint needs --model"):
        config_of("--endpoint", "http://x")


def test_programs_are_called_by_their_files_and_others_by_their_ids() -> None:
    def made(name: str, document: str, design: str | None = None) -> Environment:
        return Environment(name, "", "", "", "games", document, 0, 0, design_id=design)

    several = [made("aa", "x.py"), made("bb-d3", "y.py"), made("cc", "A document"), made("dd", "w.py", "0-0-0")]
    assert shown_names(several) == {"aa": "x.py", "bb-d3": "y.py-d3", "cc": "cc", "dd": "dd"}
    assert shown_names([made("aa", "x.py"), made("bb", "x.py")]) == {"aa": "x.py (aa)", "bb": "x.py (bb)"}


@pytest.mark.parametrize("terminal", [True, False])
async def test_long_work_gives_a_sign_of_life_and_short_work_none(
    terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ticker, "FIRST_SECONDS", 0.05)
    out = io.StringIO()
    async with Ticker(Console(file=out, force_terminal=terminal), lambda: "3 of 9 episodes"):
        await asyncio.sleep(0)
    assert "3 of 9" not in out.getvalue()
    async with Ticker(Console(file=out, force_terminal=terminal), lambda: "3 of 9 episodes"):
        await asyncio.sleep(0.4)
    assert "3 of 9 episodes, 0 s" in out.getvalue()
