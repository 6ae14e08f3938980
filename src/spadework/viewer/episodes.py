"""Episodes of a run: DuckDB over its Parquet files, so that a million of them are paged and never loaded."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from spadework.errors import ConfigError
from spadework.runs.tables import read_columns
from spadework.viewer.paging import Ask

Row = dict[str, Any]

PREVIEWED = 200
"""Characters of a reply that a table shows."""
_RETURN = "CASE WHEN isfinite(return_) THEN return_ END"
"""An episode that a fault ended has NaN, which DuckDB holds for the largest number."""
_SORTS = {"cycle": "cycle", "environment": "environment_id", "arm": "arm", "index": '"index"', "return": _RETURN}
_SORTS |= {"ending": "ending", "seed": "seed", "fault": "fault.code"}
_FILTERS = {"cycle": "cycle", "environment": "environment_id", "arm": "arm", "ending": "ending", "fault": "fault.kind"}
_COLUMNS = """id, cycle, environment_id AS environment, arm, "index", seed, ending, return_ AS "return",
    fault.kind AS fault_kind, fault.code AS fault"""

_PREVIEW = f"""id, left(turns[1].reply, {PREVIEWED}) AS preview,
    list_sum(list_transform(segments, lambda one: len(list_filter(one.loss_mask, lambda own: own)))) AS tokens"""


class EpisodeTable:
    """The episodes of one run directory. Raises ``ConfigError`` without duckdb."""

    def __init__(self, path: Path) -> None:
        try:
            import duckdb
        except ImportError:
            raise needs_viewer("duckdb") from None
        self.path = path
        self._database = duckdb.connect()
        self._database.execute("SET parquet_metadata_cache = true")
        self._lock = threading.Lock()

    def page(self, ask: Ask, cycles: int) -> dict[str, Any]:
        """One page of the episodes of the first ``cycles`` cycles, newest first unless sorted, and how many match."""
        files = self._files(range(cycles), ask.where.get("cycle"))
        if not files:
            return {"rows": [], "total": 0}
        where, values = _conditions(ask)
        direction = "DESC" if ask.desc else "ASC"
        order = f"{_SORTS[ask.sort]} {direction} NULLS LAST, " if ask.sort in _SORTS else "cycle DESC, "
        source = f"FROM read_parquet($files) {where}"
        values["files"] = files
        total = self._rows(f"SELECT count(*) AS n {source}", values)[0]["n"]
        query = f'SELECT {_COLUMNS} {source} ORDER BY {order} cycle, environment_id, arm DESC, "index"'
        rows = self._rows(f"{query} LIMIT {ask.limit} OFFSET {ask.offset}", values)
        turns = self._turns(rows)
        return {"rows": [{**row, "turns": turns.get(row["id"])} for row in rows], "total": total}

    def one(self, cycle: int, name: str) -> Row | None:
        """An episode with its turns and segments; ``None`` when there is none of that name."""
        rows = self._rows("SELECT * FROM read_parquet($files) WHERE id = $id", self._at("episodes", cycle, name))
        return rows[0] if rows else None

    def partners(self, cycle: int, environment: str) -> list[Row]:
        """All episodes of an environment in a cycle, both arms, without their texts."""
        return self.page(Ask(where={"cycle": str(cycle), "environment": environment}, limit=500), cycle + 1)["rows"]  # type: ignore[no-any-return]

    def previews(self, names: Sequence[str]) -> dict[str, Row]:
        """The first reply's beginning and the count of sampled tokens of each of a few episodes, by id."""
        by_cycle: dict[str, list[str]] = {}
        for name in names:
            cycle = name.partition("-")[0]
            if cycle.isascii() and cycle.isdigit():
                by_cycle.setdefault(cycle, []).append(name)
        found: list[Row] = []
        for cycle, own in by_cycle.items():
            query = f"SELECT {_PREVIEW} FROM read_parquet($files) WHERE list_contains($id, id)"
            found += self._rows(query, {**self._at("episodes", int(cycle), ""), "id": own})
        return {row.pop("id"): row for row in found}

    def trained(self, cycle: int, name: str) -> list[Row]:
        """The training rows of an episode or a design in the cycle that trained it."""
        query = "SELECT * FROM read_parquet($files) WHERE source_id = $id"
        return self._rows(query, self._at("sequences", cycle, name))

    def _at(self, folder: str, cycle: int, name: str) -> dict[str, Any]:
        return {"files": [str(self.path / folder / f"{cycle:05d}.parquet")], "id": name}

    def _rows(self, sql: str, values: dict[str, Any]) -> list[Row]:
        if not all(Path(file).exists() for file in values["files"]):
            return []
        with self._lock:
            cursor = self._database.execute(sql, values)
            names = [column[0] for column in cursor.description]
            return [{key: _plain(value) for key, value in zip(names, row, strict=True)} for row in cursor.fetchall()]

    def _files(self, cycles: Iterable[int], only: str | None) -> list[str]:
        names = [f"{cycle:05d}.parquet" for cycle in cycles if only is None or str(cycle) == only]
        return [str(file) for name in names if (file := self.path / "episodes" / name).exists()]

    def _turns(self, rows: Sequence[Row]) -> dict[str, int]:
        """Turns of each of a few episodes, from one thin column of their files."""
        counts: dict[str, int] = {}
        wanted = {row["id"] for row in rows}
        for cycle in {row["cycle"] for row in rows}:
            file = self.path / "episodes" / f"{cycle:05d}.parquet"
            table = read_columns(file, ["id", "turns.list.element.reward"])
            lengths = pc.list_value_length(table["turns"]).to_pylist()
            counts |= {name: n for name, n in zip(table["id"].to_pylist(), lengths, strict=True) if name in wanted}
        return counts


def needs_viewer(missing: str) -> ConfigError:
    """What to say when a package of the extra is not there."""
    return ConfigError(f"the viewer needs the extra `viewer` ({missing} is missing): pip install 'spadework[viewer]'")


def _conditions(ask: Ask) -> tuple[str, dict[str, Any]]:
    parts, values = [], dict[str, Any]()
    for key, value in ask.where.items():
        if key in _FILTERS:
            parts.append(f"CAST({_FILTERS[key]} AS VARCHAR) = ${key}")
            values[key] = value
    if ask.where.get("result") in ("win", "loss"):
        parts.append(f"{_RETURN} {'>=' if ask.where['result'] == 'win' else '<'} 1 - 1e-6")
    if ask.search:
        parts.append("contains(id, $search)")
        values["search"] = ask.search
    if ask.where.get("reply"):
        parts.append("len(list_filter(turns, lambda turn: contains(lower(turn.reply), $reply))) > 0")
        values["reply"] = ask.where["reply"].lower()
    return f"WHERE {' AND '.join(parts)}" if parts else "", values


def _plain(value: Any) -> Any:
    """NaN, which JSON has not, becomes nothing."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
