"""A held-out win rate counts single faults as losses, and is none when the machinery fails too much."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from spadework import build
from spadework.config.files import load_config
from spadework.domains.games_demo import PROGRAM, demo_script
from spadework.envs.sandbox.process import ProcessSandbox
from spadework.errors import PolicyError, RunError
from spadework.jobs.heldout import play_heldout
from spadework.study.spec import HeldOutSettings
from spadework.testing.scripted import ScriptedPolicy
from spadework.types import Environment


def failing(failures: int) -> ScriptedPolicy:
    """Plays by the script, but for the first ``failures`` requests."""
    left = failures

    def script(messages: Sequence[Any], rng: random.Random, version: int) -> str:
        nonlocal left
        left -= 1
        if left >= 0:
            raise PolicyError("CONNECTION", "http://a cannot be reached")
        return demo_script(messages, rng, version)

    return ScriptedPolicy(script)


async def played(policy: ScriptedPolicy, sandbox: ProcessSandbox) -> dict[str, Any]:
    environment = Environment("e", PROGRAM.format(low=1, high=9), "", "", "games", "", 0, 0)
    settings = build.build_play(load_config("scripted"))
    return await play_heldout(policy, sandbox, [environment], settings, HeldOutSettings(pool="p", episodes=4))


async def test_a_dead_server_gives_no_win_rate(sandbox: ProcessSandbox) -> None:
    with pytest.raises(RunError, match="4 of 4 held-out episodes failed by the machinery: 4 x endpoint CONNECTION"):
        await played(failing(99), sandbox)


async def test_one_failure_is_played_again_and_two_are_a_loss(sandbox: ProcessSandbox) -> None:
    again = await played(failing(1), sandbox)
    assert (again["faults"], again["replayed"], again["episodes"]) == (0, 1, 4)
    lost = await played(failing(5), sandbox)  # every first try, and one of the second ones
    assert (lost["faults"], lost["replayed"], lost["episodes"]) == (1, 4, 4)
