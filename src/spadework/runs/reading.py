"""Read a run's rows back as the records that they were written from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from spadework.errors import RunError
from spadework.runs.store import RunStore
from spadework.runs.tables import read_episodes
from spadework.types import Design, Environment, Episode, Fault


def read_environments(store: RunStore) -> list[Environment]:
    """Every environment that entered the pool, in order of cycle."""
    rows = [{key: value for key, value in row.items() if key != "sha256"} for row in store.rows("environments")]
    return [Environment(**{**row, "parents": _texts(row, "parents")}) for row in rows]


def read_designs(store: RunStore) -> list[Design]:
    """Every design attempt, in order of cycle, without its tokens, which are stored in the training rows only."""
    return [_design(row) for row in store.rows("designs")]


def cycle_episodes(store: RunStore, only: int | None = None) -> Iterator[tuple[int, list[Episode]]]:
    """Yield (cycle, its episodes) in order, or ``only`` one cycle. Raises ``RunError`` if that is not stored."""
    files = {int(path.stem): path for path in store.episode_files()}
    if only is not None and only not in files:
        raise RunError(f"{store.path} holds no cycle {only}; it has {len(files)}, counted from 0")
    for cycle, path in files.items():
        if only in (None, cycle):
            yield cycle, read_episodes(path)


def _design(row: Mapping[str, Any]) -> Design:
    return Design(
        **{
            **row,
            "parents": _texts(row, "parents"),
            "findings": _texts(row, "findings"),
            "segments": (),
            "repaired": bool(row["repaired"]),
            "ran": bool(row["ran"]),
            "fault": Fault(**json.loads(row["fault"])) if row["fault"] else None,
        }
    )


def _texts(row: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(json.loads(row[key]))
