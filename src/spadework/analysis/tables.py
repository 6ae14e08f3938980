"""A run directory as Arrow tables: by episode, by environment, by cycle, by skill.

They are ``pyarrow.Table``, which keep types and missing values. ``.to_pandas()``, ``polars.from_arrow`` and DuckDB take
them as they are.

    run = read_run(Path("runs/mine"))
    run.environments.to_pandas()
    measures(run, "cycle", "skill")
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from spadework.analysis.environments import environment_rows, finite
from spadework.analysis.episodes import episode_table, openings
from spadework.analysis.formulas import prints_formula
from spadework.runs.store import RunStore
from spadework.types import LEARNABLE, WIN

Row = dict[str, Any]

LENGTHS = ("turns", "action", "first_reply", "later_reply")
"""Means over valid unhinted episodes: a count of turns, and three lengths in characters (``analysis.episodes``)."""
MEASURES = {
    "unhinted": "win rate, unhinted",
    "hinted": "win rate, hinted",
    "learnable": "share of environments with an unhinted win rate in [0.2, 0.8]",
    "regret": "hinted minus unhinted return",
    "turns": "turns of an episode",
    "action": "characters of an action",
    "first_reply": "characters of the first turn's reply",
    "later_reply": "characters of a later turn's reply",
    "ran": "share of attempts whose program could be run",
    "accepted": "share of attempts that became environments",
    "reward_levels": "different returns that one environment paid",
    "partial_levels": "of them, those between 0 and a win",
    "formula": "share of environments whose opening prints a formula",
}
"""The columns of ``measures``. Each is a mean over environments, or over attempts for ``ran`` and ``accepted``."""
COUNTS = {"environments": "unhinted", "attempts": "ran", "written": "reward_levels"}
"""Count -> the measure whose values it counts; ``written`` counts the environments that entered."""


@dataclass(frozen=True)
class Run:
    """The contents of a run directory, without its texts."""

    name: str
    model: str
    episodes: pa.Table
    """One row an episode (``analysis.episodes.episode_table``)."""
    environments: pa.Table
    """One row an environment, see ``read_run``."""
    plays: tuple[Row, ...]
    designs: tuple[Row, ...]
    """``cycle``, ``skill``, ``ran`` and ``accepted`` of each attempt that no fault ended."""
    regrets: tuple[Row, ...]
    metrics: Mapping[str, Sequence[tuple[int, float]]]


def read_run(path: Path) -> Run:
    """Read a run, also one that is being written. Raises ``RunError``.

    ``environments`` has the keys of ``analysis.environments.environment_rows`` and ``learnable``, ``reward_levels``
    (different returns over all its valid episodes), ``partial_levels`` (those between 0 and a win), ``formula``
    (whether its opening prints one) and the ``LENGTHS``; null is what was never measured.
    """
    store = RunStore.read(path)
    try:
        episodes = episode_table(store)
        return Run(
            path.name,
            store.config.model.name,
            episodes,
            pa.Table.from_pylist(list(_environments(store, episodes)), schema=ENVIRONMENTS),
            tuple(store.rows("plays")),
            tuple(store.query(_DESIGNS)),
            tuple(store.rows("regrets")),
            store.metrics(),
        )
    finally:
        store.close()


def measures(run: Run, *keys: str) -> pa.Table:
    """One row for each value of ``keys`` (``cycle``, ``skill``, both or none) with the ``MEASURES`` and ``COUNTS``.

    Measures of play count by the cycle that was played; of designs by the cycle of the attempt; reward levels and
    formulas by the cycle in which the environment entered.
    """
    groups: dict[tuple[Any, ...], dict[str, list[float]]] = {}
    for row in _observations(run):
        values = groups.setdefault(tuple(row[key] for key in keys), {name: [] for name in MEASURES})
        for name in MEASURES:
            if (value := row.get(name)) is not None:
                values[name].append(float(value))
    rows = [
        dict(zip(keys, place, strict=True))
        | {name: math.fsum(found) / len(found) if found else None for name, found in values.items()}
        | {count: len(values[name]) for count, name in COUNTS.items()}
        for place, values in sorted(groups.items())
    ]
    kinds = {"cycle": pa.int64(), "skill": pa.string()}
    columns = [(key, kinds[key]) for key in keys] + [(name, pa.float64()) for name in MEASURES]
    return pa.Table.from_pylist(rows, schema=pa.schema(columns + [(name, pa.int64()) for name in COUNTS]))


def written(run: Run) -> list[Row]:
    """The environments that the run's designer wrote, or all environments of a run that has none such."""
    rows: list[Row] = run.environments.to_pylist()
    return [row for row in rows if row["design"] is not None] or rows


ENVIRONMENTS = pa.schema(
    [
        *[(name, pa.string()) for name in ("id", "skill", "domain", "document", "design")],
        ("parents", pa.list_(pa.string())),
        *[(name, pa.int64()) for name in ("cycle", "last_cycle", "cycles", "episodes", "faults")],
        *[(name, pa.float64()) for name in ("unhinted", "hinted", "regret", "regret_low", "regret_high")],
        ("learnable", pa.bool_()),
        ("reward_levels", pa.int64()),
        ("partial_levels", pa.int64()),
        ("formula", pa.bool_()),
        *[(name, pa.float64()) for name in LENGTHS],
    ]
)


_DESIGNS = """SELECT cycle, skill, ran, environment_id IS NOT NULL AS accepted FROM designs WHERE fault IS NULL
    ORDER BY cycle, slot, attempt"""


def _environments(store: RunStore, episodes: pa.Table) -> Iterator[Row]:
    texts = openings(store)
    levels = _levels(episodes)
    lengths = {row["environment_id"]: row for row in _mean_lengths(episodes, ["environment_id"])}
    for row in environment_rows(store):
        paid = levels.get(row["id"])
        yield row | {
            "learnable": learnable(row["unhinted"]),
            "reward_levels": len(paid) if paid else None,
            "partial_levels": sum(0 < level < WIN for level in paid) if paid else None,
            "formula": prints_formula(texts[row["id"]]) if row["id"] in texts else None,
            **{name: lengths.get(row["id"], {}).get(f"{name}_mean") for name in LENGTHS},
        }


def learnable(win_rate: float | None) -> bool | None:
    """Whether a win rate lies in [0.2, 0.8]; ``None`` of an unknown one."""
    return None if win_rate is None else LEARNABLE[0] <= win_rate <= LEARNABLE[1]


def _levels(episodes: pa.Table) -> dict[str, list[float]]:
    """The different returns that each environment paid, to six digits."""
    paid = episodes.filter(episodes["valid"])
    paid = pa.table({"id": paid["environment_id"], "return": pc.round(paid["return"], 6)})
    grouped = paid.group_by("id").aggregate([("return", "distinct")])
    return dict(zip(grouped["id"].to_pylist(), grouped["return_distinct"].to_pylist(), strict=True))


def _mean_lengths(episodes: pa.Table, keys: list[str]) -> list[Row]:
    played = episodes.filter(pc.and_(episodes["valid"], pc.equal(episodes["arm"], "unhinted")))
    rows: list[Row] = played.group_by(keys).aggregate([(name, "mean") for name in LENGTHS]).to_pylist()
    return rows


def _observations(run: Run) -> Iterable[Row]:
    """Rows of ``cycle``, ``skill`` and some of the measures; no observation is in two rows."""
    skills = dict(zip(run.environments["id"].to_pylist(), run.environments["skill"].to_pylist(), strict=True))
    for play in run.plays:
        place = {"cycle": play["cycle"], "skill": skills.get(play["environment_id"], "")}
        rate = finite(play["win_rate"])
        if play["arm"] == "unhinted":
            yield place | {"unhinted": rate, "learnable": learnable(rate)}
        elif play["arm"] == "hinted":
            yield place | {"hinted": rate}
    for row in run.regrets:
        yield {"cycle": row["cycle"], "skill": skills.get(row["environment_id"], ""), "regret": finite(row["mean"])}
    for row in _mean_lengths(run.episodes, ["cycle", "environment_id"]):
        place = {"cycle": row["cycle"], "skill": skills.get(row["environment_id"], "")}
        yield place | {name: row[f"{name}_mean"] for name in LENGTHS}
    yield from run.designs
    for row in written(run):
        yield {name: row[name] for name in ("cycle", "skill", "reward_levels", "partial_levels", "formula")}
