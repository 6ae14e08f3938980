"""``spadework rank`` over environments and prompts with the scripted policy: ranked, resumed, written."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from spadework.cli import main
from spadework.domains.games_demo import PROGRAM
from spadework.ranking.rank import Ranked, by_regret

NAN = float("nan")


@pytest.fixture
def inputs(tmp_path: Path) -> list[str]:
    folder = tmp_path / "programs"
    folder.mkdir()
    for low in (10, 40):
        (folder / f"sums{low}.py").write_text(PROGRAM.format(low=low, high=low + 30))
        (folder / f"sums{low}.toml").write_text('hint = "Add digit by digit."\nskill = "Optimization"\n')
    prompts = tmp_path / "prompts.jsonl"
    rows = [
        {"id": f"q{i}", "prompt": f"Add {i} and 20.", "hint": "Carry.", "answer": i + 20, "grader": "numeric"}
        for i in (11, 12)
    ]
    prompts.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return [str(folder), str(prompts)]


def rank(inputs: list[str], out: Path, *more: str) -> int:
    return main(["rank", *inputs, "--config", "scripted", "-n", "12", "--out", str(out), *more])


def test_items_are_ranked_and_gone_on_with(
    inputs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "ranking.jsonl"
    assert rank(inputs, out) == 0
    rows = [json.loads(text) for text in out.read_text().splitlines()]
    assert [row["rank"] for row in rows] == [1, 2, 3, 4]
    assert {row["kind"] for row in rows} == {"environment", "prompt"}
    regrets = [row["regret"] for row in rows]
    assert regrets == sorted(regrets, reverse=True)
    assert max(regrets) > 0
    assert all(row["low"] <= row["regret"] <= row["high"] and row["episodes"] == 24 for row in rows)
    assert {bool(row["source"]) for row in rows if row["kind"] == "environment"} == {True}
    book = tmp_path / "ranking.items.jsonl"
    lines = book.read_text().splitlines(keepends=True)
    book.write_text("".join(lines[:2]) + lines[2][:30])
    capsys.readouterr()
    assert rank(inputs, out) == 0
    assert "2 of 4 items were ranked already" in capsys.readouterr().out
    assert book.read_text() == "".join(lines)
    assert [json.loads(text) for text in out.read_text().splitlines()] == rows
    assert rank(inputs, tmp_path / "ranking.parquet", "--top", "1") == 0
    assert pq.read_table(tmp_path / "ranking.parquet").to_pylist()[0]["id"] == rows[0]["id"]


def test_other_settings_are_other_results(
    inputs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rank(inputs[1:], tmp_path / "r.jsonl") == 0
    capsys.readouterr()
    assert rank(inputs[1:], tmp_path / "r.jsonl", "--set", "play.temperature=0.1") == 0
    assert "ranked already" not in capsys.readouterr().out


def test_what_cannot_be_ranked_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "bare.py"
    program.write_text(PROGRAM.format(low=1, high=9))
    assert main(["rank", str(program), "--config", "scripted"]) == 2
    assert re.search(r"1 of 1 items have no hint", capsys.readouterr().err)
    assert main(["rank", str(program), "--config", "scripted", "--out", "x.csv"]) == 2


def test_order() -> None:
    made = [
        Ranked(str(i), "prompt", "", 4, 0, 0, 0, regret, low, 1)
        for i, (regret, low) in enumerate([(0.1, 0), (NAN, NAN), (0.5, NAN), (0.5, 0.2)])
    ]
    assert [one.id for one in by_regret(made)] == ["3", "2", "0", "1"]
