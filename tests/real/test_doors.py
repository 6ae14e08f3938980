"""The same seed and replies give the same transcript through every framework, each in its released version.

Each script of ``doors/`` runs in its framework's own virtual environment, drives the framework's own checker or client
too, and prints what it saw as its last line.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.real.venvs import framework, run

from spadework.interop.episodes import Episodes, gold_actions

pytestmark = pytest.mark.slow

PROGRAM, SEED = "code_breaker", 3
DOORS = {
    "gymnasium": ("gymnasium==1.4.0",),
}
SCRIPTS = Path(__file__).parent / "doors"


@pytest.fixture(scope="module")
def replies() -> list[str]:
    """A wrong guess, a reply without an answer, and then what the program's own solution plays."""
    return ["I guess \\boxed{BBB}.", "I do not know.", *gold_actions(PROGRAM, SEED)]


@pytest.fixture(scope="module")
def expected(replies: list[str]) -> dict[str, Any]:
    with Episodes(PROGRAM) as episodes:
        said = [episodes.reset(SEED)]
        for reply in replies:
            played = episodes.step(reply)
            said.append(played.observation)
    return {"observations": said, "reward": played.reward, "terminated": played.terminated}


@pytest.mark.parametrize("name", DOORS)
def test_a_door_gives_the_same_transcript(name: str, replies: list[str], expected: dict[str, Any]) -> None:
    assert expected["reward"] == 1.0 and expected["terminated"]
    python = framework(name, *DOORS[name])
    printed = run(python, SCRIPTS / f"{name}_door.py", PROGRAM, SEED, json.dumps(replies))
    assert json.loads(printed.splitlines()[-1]) == expected
