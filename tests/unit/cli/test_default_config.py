"""`spadework train` without an argument runs what this machine can run at once, and says so."""

from __future__ import annotations

import importlib.util
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from spadework.cli import main, train
from spadework.config.files import load_config
from spadework.envs import mathematics
from spadework.envs.sandbox.forkserver import launch
from spadework.errors import ConfigError, SandboxError
from spadework.ranking.answers import load_prompts


def without(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    """Let the module ``missing`` look as if it was not installed."""
    find = importlib.util.find_spec

    def find_others(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name == missing else find(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", find_others)


def test_the_scale_model_where_there_is_torch_and_the_script_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    assert train.default_config() == "scale"
    without(monkeypatch, "torch")
    assert train.default_config() == "scripted"
    for name in ("scale", "scripted"):
        load_config(name)


@pytest.mark.slow
def test_the_first_line_says_what_was_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    without(monkeypatch, "torch")
    monkeypatch.chdir(tmp_path)
    assert main(["train", "--set", "run.cycles=1", "--run", "first"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("You named no config, so this runs scripted")
    assert "spadework configs list" in first


def test_what_needs_the_extra_math_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "math_verify")
    assert not mathematics.is_installed()
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"id": "a", "prompt": "1+1?", "hint": "add", "answer": "2", "grader": "math"}\n')
    with pytest.raises(ConfigError, match=r"prompts.jsonl, line 1: .*spadework\[math\]"):
        load_prompts(prompts)
    with pytest.raises(SandboxError, match=r"spadework\[math\]"):
        launch.describe(launch.kind_of("from math_verify import verify"))
