"""``spadework check --policy``: win rates by level of what has no error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spadework.cli import main
from spadework.resources import shipped

BROKEN = shipped("examples") / "environments" / "broken" / "ENV502_tells_after_an_error.py"
LEVELLED = """
import random


class CountEnv:
    max_turns = 2

    def __init__(self, difficulty=1):
        self.top = 10 ** (3 + difficulty)
        self.difficulty = min(difficulty, 4)

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.numbers = [rng.randint(10, self.top) for _ in range(2 + self.difficulty)]
        return f"Add {' and '.join(map(str, self.numbers))}. Answer with the sum.", {}

    def step(self, action):
        said = action.removeprefix("\\\\boxed{").removesuffix("}").strip()
        return "Done.", float(said == str(sum(self.numbers))), True, False, {}

    def solution(self):
        return str(sum(self.numbers))
"""


@pytest.fixture
def programs(tmp_path: Path) -> list[str]:
    levelled = tmp_path / "counting.py"
    levelled.write_text(LEVELLED)
    return [str(levelled), str(shipped("examples") / "environments" / "games" / "doubling_a_number.py"), str(BROKEN)]


def test_win_rates_are_told_by_level(programs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", *programs, "--policy", "scripted", "--plays", "4", "--json"]) == 1
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    played = [row for row in rows if "program" in row]
    assert [row["path"] for row in rows if "path" in row] == programs
    levels = [row["level"] for row in played if row["program"] == programs[0]]
    assert len(levels) == 3 and levels[0] == 0 and levels == sorted(levels)
    assert [row["level"] for row in played if row["program"] == programs[1]] == [None]
    assert not [row for row in played if row["program"] == programs[2]], "what has an error is not played"
    assert all(row["n"] == 4 and 0 <= row["low"] < row["high"] <= 1 for row in played)


def test_people_get_a_table(programs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", programs[1], "--policy", "scripted", "--plays", "3"]) == 0
    assert "win rate" in capsys.readouterr().out
    assert main(["check", programs[1], "--policy", "scripted", "--sarif"]) == 2
    assert "goes with neither --sarif nor --static" in capsys.readouterr().err
