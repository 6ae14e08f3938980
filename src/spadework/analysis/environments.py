"""A run's environments and designs as plain rows: their origin, the figures of their last plays, their relatives."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from spadework.analysis.designs import ACCEPTED
from spadework.intervals import Interval, bounded
from spadework.runs.store import RunStore

Row = dict[str, Any]
REJECTED = "rejected"
REGRETS = (-2.0, 2.0)
"""The range of a difference of two returns, each in [-1, 1]."""

_ENVIRONMENTS = """SELECT id, min(cycle) AS cycle, skill, domain, document_id AS document, design_id AS design, parents
    FROM environments GROUP BY id ORDER BY min(cycle), rowid"""
_PLAYS = """SELECT environment_id AS id, arm, max(cycle) AS last_cycle, count(*) AS cycles, sum(episodes) AS episodes,
    sum(faults) AS faults, win_rate FROM plays GROUP BY environment_id, arm"""  # win_rate is that of the last cycle
_REGRETS = "SELECT environment_id AS id, max(cycle), mean, low, high, n FROM regrets GROUP BY environment_id"
_LAST_EVENTS = "SELECT environment_id AS id, cycle, entered, why, max(rowid) FROM events GROUP BY environment_id"
_DESIGNS = """SELECT id, cycle, slot, attempt, skill, document_id AS document, environment_id AS environment, findings,
    fault, repaired, variant FROM designs"""


def environment_rows(store: RunStore) -> list[Row]:
    """One row an environment, by the cycle in which it entered; figures are those of its last plays.

    Keys: ``id``, ``cycle``, ``skill``, ``domain``, ``document``, ``design``, ``parents``, ``unhinted`` and ``hinted``
    (win rates), ``regret`` with ``regret_low`` and ``regret_high``, ``last_cycle``, ``cycles`` in play, ``episodes``
    and ``faults`` over all arms; ``event`` is the last time that it entered or left the pool (``cycle``, ``entered``,
    ``why``). What was never measured is ``None``, and so are the events of runs of 0.1.
    """
    plays: dict[str, dict[str, Row]] = {}
    for play in store.query(_PLAYS):
        plays.setdefault(play["id"], {})[play["arm"]] = play
    regrets = {row["id"]: row for row in store.query(_REGRETS)}
    events = {row["id"]: row for row in store.query(_LAST_EVENTS)}
    rows = []
    for environment in store.query(_ENVIRONMENTS):
        name = environment["id"]
        row = _row(environment, plays.get(name, {}), regrets.get(name, {}))
        rows.append({**row, "event": events.get(name)})
    return rows


def _row(environment: Row, arms: Mapping[str, Row], regret: Mapping[str, Any]) -> Row:
    shown = _shown(regret)
    return {
        **environment,
        "parents": json.loads(environment["parents"]),
        "unhinted": _rate(arms, "unhinted"),
        "hinted": _rate(arms, "hinted"),
        "regret": finite(shown.mean),
        "regret_low": finite(shown.low),
        "regret_high": finite(shown.high),
        "last_cycle": max((row["last_cycle"] for row in arms.values()), default=None),
        "cycles": max((row["cycles"] for row in arms.values()), default=0),
        "episodes": sum(row["episodes"] for row in arms.values()),
        "faults": sum(row["faults"] for row in arms.values()),
    }


def _shown(regret: Mapping[str, Any]) -> Interval:
    """A stored regret with an interval that is possible and has a width.

    The run stores what Student says of its few seeds, which reaches beyond [-2, 2] or has no width. Returns that add up
    rewards have no such range.
    """
    known = {name: value for name, value in regret.items() if name in ("mean", "low", "high") and value is not None}
    if "low" not in known or "high" not in known:
        return Interval(known.get("mean", math.nan))
    found = Interval(**known, sd=(known["high"] - known["low"]) / 2, n=regret["n"])
    return bounded(found, *REGRETS) if REGRETS[0] <= found.mean <= REGRETS[1] else found


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


def _rate(arms: Mapping[str, Row], arm: str) -> float | None:
    return finite(arms[arm]["win_rate"]) if arm in arms else None


def finite(value: float | None) -> float | None:
    """The value where it is a finite number, else ``None``, for JSON has no NaN."""
    return value if value is not None and math.isfinite(value) else None
