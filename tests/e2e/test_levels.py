"""Levels from end to end: the designer is asked for them, writes one, its environment climbs, and the pages show it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.runs import Silent, story

from spadework.build import build_sandbox, build_stages
from spadework.cli import main
from spadework.config import RunConfig
from spadework.config.files import load_config
from spadework.resources import shipped
from spadework.runs.reading import read_designs, read_environments
from spadework.runs.store import RunStore
from spadework.selfplay.loop import SelfPlay
from spadework.testing.scripted import ScriptedPolicy, ScriptedTrainer

PROGRAM = (shipped("examples") / "environments" / "broken" / "ENV702_nobody_reads_the_level.fixed.py").read_text()
SETTINGS = [
    *("run.cycles=4", "designer.environments=1", "designer.every=4", "designer.difficulty=true", "validation.seeds=2"),
    *("difficulty.controller=sliding_window", "difficulty.tries=4", "difficulty.cap=2"),
]


def write_and_add(messages, rng: random.Random, version: int) -> str:
    last = messages[-1]["content"]
    if "source of a text game" in last:
        return "Keep a running total."
    if "Write one new environment" in last:
        assert "`difficulty=0`" in last
        return f"```python\n{PROGRAM}```"
    question = messages[-1]["content"].split("HINT")[0]
    return f"\\boxed{{{sum(int(word.strip('?')) for word in question.split() if word.strip('?').isdigit())}}}"


async def play(config: RunConfig, store: RunStore, stop: tuple[int, str] | None = None) -> None:
    sandbox = build_sandbox(config)
    policy = ScriptedPolicy(write_and_add, config.run.seed)
    try:
        stages = build_stages(config, sandbox, None)
        await SelfPlay(config, stages, Silent(stop)).run(policy, ScriptedTrainer(policy), store)
    finally:
        await sandbox.close()
        store.close()


async def test_a_designed_environment_climbs_and_a_stopped_run_goes_on(tmp_path: Path) -> None:
    config = load_config("scripted", SETTINGS)
    await play(config, RunStore.create(tmp_path / "whole", config))
    with pytest.raises(KeyboardInterrupt):
        await play(config, RunStore.create(tmp_path / "broken", config), (2, "update"))
    await play(config, RunStore.resume(tmp_path / "broken"))
    assert story(tmp_path / "broken") == story(tmp_path / "whole")
    store = RunStore.read(tmp_path / "whole")
    names = [one.id for one in read_environments(store)]
    base = next(design.environment_id for design in read_designs(store) if design.accepted)
    assert names == [base, f"{base}-d1", f"{base}-d2"]
    played = [(row["cycle"], row["environment_id"]) for row in store.rows("plays") if row["arm"] == "unhinted"]
    assert played == [(0, base), (1, f"{base}-d1"), (2, f"{base}-d2"), (3, f"{base}-d2")]
    hinted = [row["cycle"] for row in store.rows("plays") if row["arm"] == "hinted"]
    assert hinted == [0, 1, 2]
    assert [value for _, value in store.metrics()["pool/climbed"]] == [1.0, 1.0, 0.0, 0.0]
    store.close()


def test_play_tells_how_the_win_rate_moves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "adding.py"
    # the scripted player adds the first two numbers of a text that says "Add "
    program.write_text(PROGRAM.replace("What is {' plus '", "Add {' and '").replace('?", {}', ' .", {}'))
    words = ["--levels", "0,4", "--arm", "unhinted", "-n", "40", "--config", "scripted"]
    assert main(["play", str(program), *words, "--set", "play.max_tokens=50"]) == 0
    assert "the win rate falls from level 0 to 4" in capsys.readouterr().out
    assert main(["play", str(shipped("examples") / "environments" / "games" / "grid_walk.py"), *words]) != 0
    assert "takes no difficulty" in capsys.readouterr().err
