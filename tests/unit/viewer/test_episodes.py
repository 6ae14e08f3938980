"""Episodes that a fault ended are neither won nor lost, and stand last however returns are sorted."""

import math
from pathlib import Path

import pytest

pytest.importorskip("duckdb", reason="needs the extra viewer")

import pyarrow as pa
import pyarrow.parquet as pq

from spadework.viewer.episodes import EpisodeTable
from spadework.viewer.paging import Ask


@pytest.fixture
def table(tmp_path: Path) -> EpisodeTable:
    fault = {"kind": "program", "code": "ENV201"}
    plays = [("lost", 0.0, None), ("won", 1.0, None), ("fell", math.nan, fault), ("part", 0.5, None)]
    rows = [
        {"id": name, "cycle": 0, "environment_id": "e", "arm": "unhinted", "index": place, "seed": place}
        | {"ending": "fault" if fault else "terminated", "return_": paid, "fault": fault, "turns": [{"reward": 0.0}]}
        for place, (name, paid, fault) in enumerate(plays)
    ]
    (tmp_path / "episodes").mkdir()
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "episodes" / "00000.parquet")
    return EpisodeTable(tmp_path)


@pytest.mark.parametrize(
    ("ask", "names"),
    [
        (Ask(where={"result": "win"}), ["won"]),
        (Ask(where={"result": "loss"}), ["lost", "part"]),
        (Ask(where={"fault": "program"}), ["fell"]),
        (Ask(sort="return"), ["lost", "part", "won", "fell"]),
        (Ask(sort="return", desc=True), ["won", "part", "lost", "fell"]),
    ],
)
def test_faults_are_neither_won_nor_lost(table: EpisodeTable, ask: Ask, names: list[str]) -> None:
    page = table.page(ask, 1)
    assert [row["id"] for row in page["rows"]] == names
    assert page["total"] == len(names)
