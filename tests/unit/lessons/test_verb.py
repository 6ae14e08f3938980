"""The verb's pools; its build is tested with the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from spadework.cli import main
from spadework.lessons.families import FAMILIES
from spadework.selfplay.pool.files import load_pool


def test_a_hand_set_pool_is_written_and_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "hand.parquet"
    assert main(["scale-model", "pool", "--out", str(path), "--lengths", "2-4"]) == 0
    pool = load_pool(path)
    assert len(pool) == 3 * len(FAMILIES)
    assert all(environment.hint and environment.skill for environment in pool)
    assert f"{len(pool)} environments" in capsys.readouterr().out


@pytest.mark.parametrize("given", [("--lengths", "0-3"), ("--lengths", "5"), ("--out", "pool.txt")])
def test_what_cannot_be_is_refused(given: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = {"--out": str(tmp_path / "pool.parquet"), "--lengths": "2-3", given[0]: given[1]}
    assert main(["scale-model", "pool", *(word for pair in words.items() for word in pair)]) == 2
    assert f"{given[0]} {given[1]}" in capsys.readouterr().err


def test_a_build_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scale-model", "build", "--out", str(tmp_path)]) == 2
    assert "exists already" in capsys.readouterr().err
