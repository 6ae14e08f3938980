"""Episodes and training rows as Parquet, with one file of each per cycle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from spadework import types
from spadework.errors import RunError
from spadework.text import clean
from spadework.types import Episode, Fault, Segment, Turn, plain

_SEGMENT = pa.struct(
    [
        ("tokens", pa.list_(pa.int32())),
        ("loss_mask", pa.list_(pa.bool_())),
        ("logprobs", pa.list_(pa.float64())),
        ("policy_version", pa.int64()),
        ("temperature", pa.float64()),
    ]
)
_TURN = pa.struct(
    [
        ("observation", pa.string()),
        ("reply", pa.string()),
        ("action", pa.string()),
        ("reward", pa.float64()),
        ("malformed", pa.bool_()),
    ]
)
_FAULT = pa.struct([("kind", pa.string()), ("code", pa.string()), ("message", pa.string()), ("detail", pa.string())])
EPISODES = pa.schema(
    [
        ("id", pa.string()),
        ("cycle", pa.int64()),
        ("environment_id", pa.string()),
        ("arm", pa.string()),
        ("index", pa.int64()),
        ("seed", pa.int64()),
        ("turns", pa.list_(_TURN)),
        ("segments", pa.list_(_SEGMENT)),
        ("ending", pa.string()),
        ("return_", pa.float64()),
        ("last_observation", pa.string()),
        ("fault", _FAULT),
    ]
)
SEQUENCES = pa.schema(
    [
        ("tokens", pa.list_(pa.int32())),
        ("loss_mask", pa.list_(pa.bool_())),
        ("logprobs", pa.list_(pa.float64())),
        ("advantages", pa.list_(pa.float64())),
        ("role", pa.string()),
        ("group_id", pa.string()),
        ("source_id", pa.string()),
        ("policy_version", pa.int64()),
        ("temperature", pa.float64()),
    ]
)


def write_rows(path: Path, rows: Sequence[Episode] | Sequence[types.TrainingRow], schema: pa.Schema) -> None:
    """Write the episodes or the training rows of a cycle."""
    table = pa.Table.from_pylist([plain(row) for row in rows], schema=schema)
    # With a checksum a page, so that a byte that turned on the disk is noticed and not read as another number.
    pq.write_table(table, path, compression="zstd", write_page_checksum=True)


def read_episodes(path: Path) -> list[Episode]:
    """The episodes of one file. Raises ``RunError`` for a damaged file."""
    with _whole(path):
        return [_episode(row) for row in read_table(path, EPISODES).to_pylist()]


def read_sequences(path: Path) -> list[types.TrainingRow]:
    """The training rows of one file. Raises ``RunError`` for a damaged file."""
    lists = ("tokens", "loss_mask", "logprobs", "advantages")
    with _whole(path):
        rows = read_table(path, SEQUENCES).to_pylist()
        return [types.TrainingRow(**{**row, **{key: tuple(row[key]) for key in lists}}) for row in rows]


def read_table(path: Path, schema: pa.Schema) -> pa.Table:
    """The table of one file; columns that an older version lacks are null. Raises ``RunError`` if it is damaged."""
    with _whole(path):
        strange = set(pq.read_schema(path).names) - set(schema.names)
        if strange:  # pages have checksums, the names of columns have none
            raise ValueError(f"it has columns that no version wrote: {', '.join(sorted(strange))}")
        return pq.read_table(path, schema=schema, page_checksum_verification=True)


def read_columns(path: Path, columns: Sequence[str]) -> pa.Table:
    """Some columns of one file, possibly nested (``turns.list.element.reward``). Raises ``RunError`` if damaged."""
    with _whole(path):
        return pq.ParquetFile(path, page_checksum_verification=True).read(columns)


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:  # a missing column reads as null
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the system's own, which names the file; those of pyarrow have no number
        reason = str(error).partition("\n")[0]
        raise RunError(f"{path} is damaged ({reason}); copy it back from a backup") from error


def _episode(row: dict[str, Any]) -> Episode:
    segments = tuple(
        Segment(**{**segment, **{key: tuple(segment[key]) for key in ("tokens", "loss_mask", "logprobs")}})
        for segment in row["segments"]
    )
    turns = tuple(_turn(turn) for turn in row["turns"])
    fault = Fault(**row["fault"]) if row["fault"] else None
    last = clean(row["last_observation"] or "")
    return Episode(**{**row, "segments": segments, "turns": turns, "fault": fault, "last_observation": last})


def _turn(row: dict[str, Any]) -> Turn:
    """Build a turn. Version 0.1 stored observations as programs returned them; clean them as today's replay does."""
    return Turn(**{**row, "observation": clean(row["observation"]), "malformed": bool(row["malformed"])})
