"""Rows in one file."""

import json

import pytest

from spadework.errors import ConfigError
from spadework.runs.export import export_files, write_jsonl
from spadework.runs.tables import EPISODES, read_episodes, write_rows
from spadework.types import Episode, Fault, Segment, Turn


def episode(cycle, fault=None):
    segment = Segment((1, 2), (False, True), (0.0, -0.1), 4)
    value = float("nan") if fault else 1 / 3
    turns = (Turn("ü?", "x", "x", 0.1),)
    return Episode(f"{cycle}-e", cycle, "env", "hinted", 0, 7, turns, (segment,), "terminated", value, "", fault)


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / f"{cycle}.parquet" for cycle in range(3)]
    for cycle, path in enumerate(paths):
        write_rows(path, [episode(cycle), episode(cycle)], EPISODES)
    return paths


def test_parquet_holds_all_cycles(files, tmp_path):
    out = tmp_path / "deep" / "all.parquet"
    assert export_files(files, EPISODES, out) == 6
    assert read_episodes(out) == [episode(cycle) for cycle in range(3) for _ in range(2)]


def test_json_lines_hold_all_cycles(files, tmp_path):
    out = tmp_path / "all.jsonl"
    assert export_files(files, EPISODES, out) == 6
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [row["cycle"] for row in rows] == [0, 0, 1, 1, 2, 2]
    assert (rows[0]["return_"], rows[0]["turns"][0]["observation"]) == (1 / 3, "ü?")


def test_nan_becomes_null(tmp_path):
    faulty = tmp_path / "faulty.parquet"
    write_rows(faulty, [episode(0, Fault("program", "ENV205", "hung"))], EPISODES)
    out = tmp_path / "out.jsonl"
    export_files([faulty], EPISODES, out)
    assert json.loads(out.read_text())["return_"] is None
    assert write_jsonl(out, [{"a": {"b": float("inf")}}]) == 1
    assert json.loads(out.read_text()) == {"a": {"b": None}}


def test_another_suffix_is_refused(files, tmp_path):
    with pytest.raises(ConfigError, match=r"\.csv"):
        export_files(files, EPISODES, tmp_path / "all.csv")
