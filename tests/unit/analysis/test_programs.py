"""Counts of a program's text, by hand."""

from __future__ import annotations

import pytest

from spadework.analysis.programs import ProgramMeasures, means, measure_program

SOURCE = """
# a comment
class CountEnv:
    def reset(self, seed=None):
        self.secret, self.turn = 7, 0
        return "Guess.", {}

    def step(self, action):
        self.turn += 1
        reward = 0.0
        if action == "near":
            reward = 0.5

        if action == "stop":
            return "Stopped.", 0, True, False, {}
        if action == "half":
            return self._answer(action)
        return "", 1.0 if action == "7" else reward, True, False, {}

    def _answer(self, action):
        return "", len(action) / 10, True, False, {}
"""


def test_counts():
    # rewards: 0, 1, 0.5 and a formula; the 0 of a local name and the 0 of a return are one level
    assert measure_program(SOURCE) == ProgramMeasures(lines=16, hidden_variables=2, reward_levels=4)


@pytest.mark.parametrize("source", ["", "class (", "x = 1"])
def test_what_is_no_environment_is_not_counted(source):
    assert measure_program(source) is None


def test_means():
    rows = [ProgramMeasures(10, 2, 3), ProgramMeasures(20, 4, 4)]
    assert list(means(rows).values()) == [15, 3, 3.5]
    assert means([]) == {}
