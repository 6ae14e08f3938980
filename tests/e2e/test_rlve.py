"""The RLVE baseline with a scripted answerer: levels open at exactly the right tries, hold where it fails, and resume."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from tests.runs import Silent, story

from spadework.build import build_stages
from spadework.config import RunConfig
from spadework.config.files import load_config
from spadework.envs.sandbox.base import Sandbox
from spadework.envs.sandbox.packaged.names import parse_named
from spadework.envs.sandbox.packaged.sandbox import PackagedSandbox
from spadework.envs.sandbox.process import ProcessSandbox
from spadework.runs.reading import read_environments
from spadework.runs.store import RunStore
from spadework.selfplay.loop import SelfPlay
from spadework.testing.scripted import ScriptedPolicy, ScriptedTrainer

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("Gym") is None, reason="needs rlve-gym, of the extra baselines"),
    pytest.mark.asyncio(loop_scope="module"),
]
SIZES = [
    "model.name=scripted",
    "pool.source=rlve:Multiplication",
    "pool.per_cycle=2",
    "play.episodes=4",
    "play.plays_per_seed=4",
    "play.max_tokens=200",
    "difficulty.tries=8",
]
DIGITS = 4
"""Longest factors that the answerer knows how to multiply: those of levels 0 to 2."""


def multiply(messages, rng, version) -> str:
    one, two = re.findall(r"\d+", messages[-1]["content"])
    right = int(one) * int(two)
    return f"\\boxed{{{right if max(len(one), len(two)) <= DIGITS else right + 1}}}"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def workers() -> AsyncIterator[Sandbox]:
    made = PackagedSandbox(ProcessSandbox(), workers=1)
    yield made
    await made.close()


async def play(workers: Sandbox, config: RunConfig, store: RunStore, stop: tuple[int, str] | None = None) -> None:
    policy = ScriptedPolicy(multiply, config.run.seed)
    try:
        await SelfPlay(config, build_stages(config, workers, None), Silent(stop)).run(
            policy, ScriptedTrainer(policy), store
        )
    finally:
        store.close()


def settings(*more: str) -> RunConfig:
    return load_config("fixed-rlve-4b", [*SIZES, *more])


async def test_promoted_at_the_right_tries_and_held_where_it_fails(workers: Sandbox, tmp_path: Path) -> None:
    config = settings("run.cycles=14")
    await play(workers, config, RunStore.create(tmp_path / "run", config))
    store = RunStore.read(tmp_path / "run")
    played, plays, metrics = read_environments(store), store.rows("plays"), store.metrics()
    store.close()
    levels = {(one.cycle, one.id): parse_named(one.source).difficulty for one in played}
    assert len(levels) == 28
    assert all(row["episodes"] == 4 and not row["faults"] and row["win_rate"] in (0.0, 1.0) for row in plays)
    top, tries, wins = 0, 0, 0
    for cycle in range(14):
        for row in (row for row in plays if row["cycle"] == cycle):
            level = levels[cycle, row["environment_id"]]
            assert max(0, top - 3) <= level <= top
            assert row["win_rate"] == 1.0 or level > 2
            if level == top:
                tries, wins = tries + 4, wins + 4 * row["win_rate"]
        if tries >= 8:
            top, tries, wins = top + (wins >= 0.9 * tries), 0, 0
        assert dict(metrics["difficulty/top_max"])[cycle] == top
    assert top == 3  # it cannot multiply five digits: looked at, and held
    assert dict(metrics["difficulty/promotions"])[13] == 3


@pytest.mark.parametrize("controller", ["sliding_window", "learning_potential"])
async def test_a_stopped_run_goes_on_as_if_unbroken(workers: Sandbox, controller: str, tmp_path: Path) -> None:
    config = settings("run.cycles=6", f"difficulty.controller={controller}", "pool.per_cycle=3")
    await play(workers, config, RunStore.create(tmp_path / "unbroken", config))
    with pytest.raises(KeyboardInterrupt):
        await play(workers, config, RunStore.create(tmp_path / "broken", config), (3, "update"))
    await play(workers, config, RunStore.resume(tmp_path / "broken"))
    assert story(tmp_path / "broken") == story(tmp_path / "unbroken")
    store = RunStore.read(tmp_path / "broken")
    assert dict(store.metrics()["difficulty/promotions"])[5] >= 1
    store.close()


async def test_mixed_pools_keep_a_package_out_of_memory(workers: Sandbox, tmp_path: Path) -> None:
    config = settings("run.cycles=1", "memory.enabled=true")
    await play(workers, config, RunStore.create(tmp_path / "run", config))
    store = RunStore.read(tmp_path / "run")
    assert dict(store.metrics()["memory/size"]) == {0: 0.0}
    store.close()
