"""The loop over the fork server: the same run as over plain processes, and a cycle that survives what dies under it."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.runs import cli, story

from spadework.config.files import load_config
from spadework.domains.games import GAMES
from spadework.envs.sandbox.base import Limits
from spadework.envs.sandbox.forkserver.client import ForkServer
from spadework.policies.base import SamplingParams
from spadework.rollout import PlaySettings
from spadework.selfplay.design.examples import load_examples
from spadework.selfplay.design.prompts import agent_opening
from spadework.selfplay.play.plan import plan_plays, play_all
from spadework.testing.scripted import ScriptedPolicy


def test_both_sandboxes_tell_the_same_story(tmp_path: Path) -> None:
    for kind in ("forkserver", "process"):
        options = ("--set", "run.cycles=2", "--set", "run.deterministic=true", "--set", f"sandbox.type={kind}")
        assert cli("train", "scripted", *options, "--run", tmp_path / kind).returncode == 0
    assert story(tmp_path / "forkserver") == story(tmp_path / "process")


class SlowPolicy(ScriptedPolicy):
    """Takes its time, so that something can happen in between."""

    async def sample(self, *args: Any) -> Any:
        await asyncio.sleep(0.6)
        return await super().sample(*args)


def half_of_the_children(sandbox: ForkServer) -> None:
    for instance in [instance for instance in sandbox.live() if instance.pid][::2]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(instance.pid, signal.SIGKILL)


def a_zygote(sandbox: ForkServer) -> None:
    started = [task.result() for task in sandbox._zygotes.values() if task.done()]
    zygote = max(started, key=lambda zygote: len(zygote.instances))
    os.kill(zygote._process.pid, signal.SIGKILL)


@pytest.mark.parametrize("kill", [half_of_the_children, a_zygote])
async def test_a_cycle_completes_with_typed_faults(kill: Callable[[ForkServer], None]) -> None:
    config = load_config("scripted")
    examples = load_examples(GAMES)
    environments = [e.environment for e in examples if e.name in ("counting_down", "higher_or_lower", "turtle_steps")]
    settings = PlaySettings(agent_opening(config.play, GAMES), Limits(), SamplingParams(200))
    policy = SlowPolicy(lambda messages, rng, version: f"\\boxed{{{rng.randint(1, 9)}}}")
    plays = plan_plays(environments, lambda e: True, 0, 0, (8, 8))
    sandbox = ForkServer()
    try:
        task = asyncio.create_task(play_all(policy, sandbox, plays, settings, concurrency=None))
        while sum(bool(instance.pid) for instance in sandbox.live()) < len(plays) // 2 and not task.done():
            await asyncio.sleep(0.01)
        kill(sandbox)
        episodes = await asyncio.wait_for(task, timeout=30)
        again = await play_all(policy, sandbox, plays[:4], settings, concurrency=None)
    finally:
        await sandbox.close()
    assert [episode.id for episode in episodes] == [play.id for play in plays]
    kinds = Counter(episode.fault.kind for episode in episodes if episode.fault is not None)
    assert kinds["sandbox"] > kinds["program"], Counter(
        (e.fault.kind, e.fault.code, e.fault.message) for e in episodes if e.fault
    )
    assert all(math.isnan(episode.return_) for episode in episodes if episode.fault is not None)
    assert all(episode.valid for episode in again)
