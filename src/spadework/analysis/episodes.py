"""A run's episodes as one table of figures. It is read by columns, so that no transcript becomes a Python object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from spadework.runs.store import RunStore
from spadework.runs.tables import read_columns
from spadework.types import WIN

PLAIN = ("id", "cycle", "environment_id", "arm", "index", "ending")
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("cycle", pa.int64()),
        ("environment_id", pa.string()),
        ("arm", pa.string()),
        ("index", pa.int64()),
        ("ending", pa.string()),
        ("valid", pa.bool_()),
        ("return", pa.float64()),
        ("win", pa.bool_()),
        ("turns", pa.int64()),
        ("action", pa.float64()),
        ("first_reply", pa.float64()),
        ("later_reply", pa.float64()),
    ]
)


def episode_table(store: RunStore) -> pa.Table:
    """One row for each episode, by cycle.

    ``valid`` is false where a fault ended the episode; ``return`` and ``win`` are null then. Three columns are lengths
    in characters, null where there are no such turns: ``action`` is the mean over actions that reached the environment,
    ``first_reply`` that of the whole reply of the first turn, and ``later_reply`` the mean over the replies after it.
    """
    tables = [_figures(read_columns(path, _COLUMNS)) for path in store.episode_files()]
    return pa.concat_tables(tables) if tables else SCHEMA.empty_table()


def openings(store: RunStore) -> dict[str, str]:
    """The first observation of each environment's first unhinted episode."""
    found: dict[str, str] = {}
    for environment, opening in _first_observations(store):
        found.setdefault(environment, opening)
    return found


_TURN = "turns.list.element."
_COLUMNS = [*PLAIN, "return_", "fault.kind", f"{_TURN}reply", f"{_TURN}action"]


def _figures(table: pa.Table) -> pa.Table:
    turns = table["turns"].combine_chunks()
    counts = np.asarray(pc.fill_null(pc.list_value_length(turns), 0), dtype=np.int64)
    flat = turns.flatten()
    replies, actions = _lengths(flat, "reply"), _lengths(flat, "action")
    starts = np.cumsum(counts) - counts
    said, acted = _sums(replies, counts), _sums(actions, counts)
    first = np.where(counts > 0, replies[np.minimum(starts, len(replies) - 1)] if len(replies) else 0.0, 0.0)
    valid = pc.is_null(table["fault"])
    won = pc.greater_equal(table["return_"], WIN)
    return pa.table(
        {
            **{name: table[name] for name in PLAIN},
            "valid": valid,
            "return": pc.if_else(valid, table["return_"], None),
            "win": pc.if_else(valid, won, None),
            "turns": counts,
            "action": _quotients(acted, counts),
            "first_reply": _quotients(first, np.minimum(counts, 1)),
            "later_reply": _quotients(said - first, counts - 1),
        },
        schema=SCHEMA,
    )


def _lengths(turns: Any, field: str) -> NDArray[np.float64]:
    return np.asarray(pc.fill_null(pc.utf8_length(turns.field(field)), 0), dtype=np.float64)


def _sums(values: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    sums = np.bincount(np.repeat(np.arange(len(counts)), counts), values, minlength=len(counts))
    return sums.astype(np.float64)


def _quotients(sums: NDArray[np.float64], counts: NDArray[np.int64]) -> Any:
    return pa.array(sums / np.maximum(counts, 1), mask=counts <= 0)


def _first_observations(store: RunStore) -> Iterator[tuple[str, str]]:
    for path in store.episode_files():
        table = read_columns(path, ["environment_id", "arm", f"{_TURN}observation"])
        table = table.filter(pc.equal(table["arm"], "unhinted"))
        table = table.filter(pc.greater(pc.list_value_length(table["turns"]), 0))
        texts = pc.struct_field(pc.list_element(table["turns"], 0), "observation")
        yield from zip(table["environment_id"].to_pylist(), texts.to_pylist(), strict=True)
