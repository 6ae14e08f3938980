"""Export a run's rows to one JSON lines or Parquet file, with one cycle in memory at a time."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from spadework.errors import ConfigError
from spadework.runs.files import write_whole
from spadework.runs.tables import read_table

SUFFIXES = (".jsonl", ".parquet")


def export_files(files: Sequence[Path], schema: pa.Schema, out: Path) -> int:
    """Write the rows of Parquet ``files`` into one file, in the format of its suffix; returns the number of rows.

    Raises ``ConfigError`` for another suffix.
    """
    tables = (read_table(file, schema) for file in files)
    if out.suffix == ".jsonl":
        return write_jsonl(out, (row for table in tables for row in table.to_pylist()))
    if out.suffix != ".parquet":
        raise ConfigError(f"--out {out}: the name must end in {' or '.join(SUFFIXES)}")
    count = 0

    def write(target: Path) -> None:
        nonlocal count
        with pq.ParquetWriter(target, schema, compression="zstd") as writer:
            for table in tables:
                writer.write_table(table)
                count += table.num_rows

    _into_place(out, write)
    return count


def write_jsonl(out: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write one JSON object per line, with null for NaN, which JSON cannot hold. Returns the number of rows."""
    count = 0

    def write(target: Path) -> None:
        nonlocal count
        with target.open("w", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(_plain(row), ensure_ascii=False, allow_nan=False) + "\n")
                count += 1

    _into_place(out, write)
    return count


def write_parquet(out: Path, rows: Sequence[Mapping[str, Any]]) -> int:
    """Write rows with equal keys as one Parquet file. Returns the number of rows."""
    table = pa.Table.from_pylist([dict(row) for row in rows])
    _into_place(out, lambda target: pq.write_table(table, target, compression="zstd"))
    return len(rows)


def _into_place(out: Path, write: Callable[[Path], None]) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, write)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
