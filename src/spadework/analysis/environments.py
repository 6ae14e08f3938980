"""A run's environments and designs as plain rows: their origin, the figures of one cycle, and their relatives."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from spadework.analysis.designs import ACCEPTED
from spadework.intervals import Interval, bounded_regret
from spadework.runs.store import RunStore

Row = dict[str, Any]
REJECTED = "rejected"

_ENVIRONMENTS = """SELECT id, min(cycle) AS cycle, skill, domain, document_id AS document, design_id AS design, parents
    FROM environments GROUP BY id ORDER BY min(cycle), rowid"""
_TOTALS = """SELECT environment_id AS id, max(cycle) AS last_cycle, count(DISTINCT cycle) AS cycles,
    sum(episodes) AS episodes, sum(faults) AS faults FROM plays GROUP BY environment_id"""
_MEASURED = """SELECT environment_id AS id, max(cycle) AS cycle, mean, low, high, n FROM regrets WHERE mean IS NOT NULL
    GROUP BY environment_id"""
"""The newest regret of each environment. In SQLite the other columns are those of the row with the maximum."""
_FIGURES = f"""SELECT plays.environment_id AS id, plays.arm, plays.cycle, plays.episodes - plays.faults AS n,
    plays.win_rate
    FROM plays JOIN (
        SELECT own.environment_id, coalesce(measured.cycle, max(own.cycle)) AS cycle
        FROM plays AS own LEFT JOIN ({_MEASURED}) AS measured ON measured.id = own.environment_id
        GROUP BY own.environment_id
    ) AS chosen ON chosen.environment_id = plays.environment_id AND chosen.cycle = plays.cycle"""
"""The arms of each environment in one cycle: that of its newest regret, or its last where it has none."""
_LAST_RATES = """SELECT environment_id AS id, max(cycle), win_rate FROM plays WHERE arm = 'unhinted'
    GROUP BY environment_id"""
_LAST_EVENTS = "SELECT environment_id AS id, cycle, entered, why, max(rowid) FROM events GROUP BY environment_id"
_DESIGNS = """SELECT id, cycle, slot, attempt, skill, document_id AS document, environment_id AS environment, findings,
    fault, repaired, variant FROM designs"""


def environment_rows(store: RunStore) -> list[Row]:
    """One row an environment, by the cycle in which it entered.

    The figures of a row come from one cycle, ``measured``: the newest in which both arms were played, so that
    ``regret`` is ``hinted`` minus ``unhinted``. One without such a cycle has the win rates of its last plays.

    Keys: ``id``, ``cycle``, ``skill``, ``domain``, ``document``, ``design``, ``parents``; ``measured``, ``unhinted``
    and ``hinted`` (win rates over ``unhinted_n`` and ``hinted_n`` plays), ``regret`` with ``regret_low`` and
    ``regret_high``; ``last_cycle`` and ``last_rate`` (its newest unhinted win rate), ``cycles`` in play, ``episodes``
    and ``faults`` over all arms; ``event`` is the last time that it entered or left the pool (``cycle``, ``entered``,
    ``why``). What was never measured is ``None``, and so are the events of runs of 0.1.
    """
    arms: dict[str, dict[str, Row]] = {}
    for play in store.query(_FIGURES):
        arms.setdefault(play["id"], {})[play["arm"]] = play
    totals = {row["id"]: row for row in store.query(_TOTALS)}
    regrets = {row["id"]: row for row in store.query(_MEASURED)}
    last_rates = {row["id"]: row["win_rate"] for row in store.query(_LAST_RATES)}
    events = {row["id"]: row for row in store.query(_LAST_EVENTS)}
    rows = []
    for environment in store.query(_ENVIRONMENTS):
        name = environment["id"]
        figures = _figures(arms.get(name, {}), regrets.get(name, {}))
        ends = {**_sums(totals.get(name)), "last_rate": finite(last_rates.get(name)), "event": events.get(name)}
        rows.append({**environment, "parents": json.loads(environment["parents"]), **figures, **ends})
    return rows


def _figures(arms: Mapping[str, Row], regret: Mapping[str, Any]) -> Row:
    """What was measured in the one cycle of ``arms`` and ``regret``."""
    shown = _shown(regret)
    return {
        "measured": max((row["cycle"] for row in arms.values()), default=None),
        "unhinted": _of_arm(arms, "unhinted", "win_rate"),
        "hinted": _of_arm(arms, "hinted", "win_rate"),
        "unhinted_n": _of_arm(arms, "unhinted", "n"),
        "hinted_n": _of_arm(arms, "hinted", "n"),
        "regret": finite(shown.mean),
        "regret_low": finite(shown.low),
        "regret_high": finite(shown.high),
    }


def _sums(total: Row | None) -> Row:
    """The counts of an environment over all its plays."""
    if total is None:
        return {"last_cycle": None, "cycles": 0, "episodes": 0, "faults": 0}
    return {key: total[key] for key in ("last_cycle", "cycles", "episodes", "faults")}


def _shown(regret: Mapping[str, Any]) -> Interval:
    """A stored regret with an interval that is possible and has a width.

    The run stores what Student says of its few seeds, which reaches beyond [-2, 2] or has no width. Returns that add up
    rewards have no such range: there, equal values leave the ends unknown.
    """
    known = {name: value for name, value in regret.items() if name in ("mean", "low", "high") and value is not None}
    if "low" not in known or "high" not in known:
        return Interval(known.get("mean", math.nan))
    found = Interval(**known, sd=(known["high"] - known["low"]) / 2, n=regret["n"])
    return bounded_regret(found)


def design_rows(store: RunStore, name: str | None = None) -> list[Row]:
    """One row an attempt at a design, or the one called ``name``, without its texts.

    ``findings`` and ``fault`` are decoded; ``reason`` is its outcome as ``analysis.designs.outcome`` has it,
    ``why`` the whole of what was found first, ``outcome`` whether it was accepted.
    """
    if name is not None:
        return [_design(row) for row in store.query(f"{_DESIGNS} WHERE id = ?", name)]
    return [_design(row) for row in store.query(f"{_DESIGNS} ORDER BY cycle, slot, attempt")]


def _design(row: Row) -> Row:
    findings, fault = json.loads(row["findings"]), json.loads(row["fault"]) if row["fault"] else None
    if fault is not None:
        reason, why = f"{fault['kind']} fault {fault['code']}", f"{fault['code']}: {fault['message']}"
    elif row["environment"] is not None:
        reason, why = ACCEPTED, ""
    else:
        why = str(findings[0])
        reason = why.partition(" ")[0].rstrip(":")
    return {
        **row,
        "repaired": bool(row["repaired"]),
        "findings": findings,
        "fault": fault,
        "reason": reason,
        "outcome": ACCEPTED if reason == ACCEPTED else REJECTED,
        "why": why,
    }


def relatives(rows: Iterable[Mapping[str, Any]], name: str) -> tuple[list[list[str]], list[list[str]]]:
    """Ancestors and descendants of an environment through memory, generation by generation, the nearest first.

    A parent is an environment that stood as an example in the prompt that wrote its child.
    """
    parents = {row["id"]: list(row["parents"]) for row in rows}
    children: dict[str, list[str]] = {}
    for child, own in parents.items():
        for parent in own:
            children.setdefault(parent, []).append(child)
    return _generations(parents, name), _generations(children, name)


def _generations(edges: Mapping[str, list[str]], name: str) -> list[list[str]]:
    seen, generation, found = {name}, [name], []
    while generation:
        generation = list(dict.fromkeys(n for one in generation for n in edges.get(one, ()) if n not in seen))
        seen.update(generation)
        if generation:
            found.append(generation)
    return found


def _of_arm(arms: Mapping[str, Row], arm: str, key: str) -> float | None:
    return finite(arms[arm][key]) if arm in arms else None


def finite(value: float | None) -> float | None:
    """The value where it is a finite number, else ``None``, for JSON has no NaN."""
    return value if value is not None and math.isfinite(value) else None
