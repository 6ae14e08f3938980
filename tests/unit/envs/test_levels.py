"""Which levels a source has, and the same source at another one, read and run."""

import pytest

from spadework.envs.levels import Levels, at_level, levels
from spadework.envs.sandbox.base import Limits

PROGRAM = """
class CountEnv:
    max_difficulty = 7
    def __init__(self, max_turns=4, difficulty=1):
        self.difficulty = difficulty
    def reset(self, seed=None):
        return f"level {self.difficulty}", {}
    def step(self, action):
        return "over", 0.0, True, False, {}
"""


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (PROGRAM, Levels(1, 7)),
        (PROGRAM.replace("    max_difficulty = 7\n", ""), Levels(1, None)),
        (PROGRAM.replace("max_turns=4, difficulty=1", "*, difficulty: int = 0"), Levels(0, 7)),
        (PROGRAM.replace("max_turns=4, difficulty=1", "difficulty"), Levels(0, 7)),
        (PROGRAM.replace(", difficulty=1", ""), None),
        ("class Env(:", None),
        ("x = 1", None),
    ],
)
def test_levels_of_a_program(source, found):
    assert levels(source) == found


def test_a_level_replaces_the_last_one():
    assert levels(at_level(PROGRAM, 5)) == Levels(5, 7)
    assert at_level(at_level(PROGRAM, 5), 2) == at_level(PROGRAM, 2)
    assert at_level("rlve:Sorting?difficulty=1", 4) == "rlve:Sorting?difficulty=4"


async def test_the_constructor_is_given_the_level(sandbox):
    for source, opening in (
        (PROGRAM, "level 1"),
        (at_level(PROGRAM, 6), "level 6"),
        ("DIFFICULTY = 'x'\n" + PROGRAM, "level 1"),
    ):
        session = await sandbox.open(source, Limits())
        assert (await session.reset(0)).observation == opening
        await session.close()
