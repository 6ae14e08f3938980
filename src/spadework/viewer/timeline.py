"""The curriculum as bars over cycles: when each environment entered, how it was won, and how it ended."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from typing import Any

from spadework.analysis.environments import finite
from spadework.types import LEARNABLE
from spadework.viewer.records import RunView

Answer = dict[str, Any]

SHOWN = 40
"""Cycles of one picture, unless the page asks for others."""
MOST = 120
"""Cycles of one picture at most."""
_CELLS = """SELECT environment_id AS id, cycle, max(CASE WHEN arm = 'unhinted' THEN win_rate END) AS unhinted,
    max(CASE WHEN arm = 'hinted' THEN win_rate END) AS hinted FROM plays WHERE cycle BETWEEN ? AND ?
    GROUP BY environment_id, cycle ORDER BY cycle"""
_ENDS = {"replaced": "replaced", "climbed": "replaced", "mastered": "mastered", "hopeless": "hopeless"}


def timeline(run: RunView, first: int | None, last: int | None) -> Answer:
    """The environments that were played from cycle ``first`` to ``last``; by default in the newest ``SHOWN`` cycles.

    ``environments`` have a ``lane`` each, so that no two in one lane overlap, the ``cells`` [cycle, unhinted win rate,
    hinted win rate], and their ``end``: ``mastered``, ``hopeless``, ``failed``, ``replaced``, or nothing while they are
    in the pool. ``counts`` says of each cycle how many were played, entered, were learnable, and ended in which way.
    """
    cycles = run.cycles()
    newest = cycles - 1 if last is None else min(last, cycles - 1)
    oldest = max(0, newest - SHOWN + 1 if first is None else first, newest - MOST + 1)
    with run.open() as store:
        played = store.query(_CELLS, oldest, newest)
    cells: dict[str, list[tuple[int, float | None, float | None]]] = {}
    for cell in played:
        rates = finite(cell["unhinted"]), finite(cell["hinted"])
        cells.setdefault(cell["id"], []).append((cell["cycle"], *rates))
    shown = [row for row in run.untitled() if row["id"] in cells]
    run.title(shown)
    bars = [_bar(row, cells[row["id"]]) for row in shown]
    lanes = _place(bars)
    counts = [_count(bars, cycle) for cycle in range(oldest, newest + 1)]
    return {"first": oldest, "last": newest, "cycles": cycles, "lanes": lanes, "environments": bars, "counts": counts}


def _bar(row: Answer, cells: Sequence[tuple[int, float | None, float | None]]) -> Answer:
    keys = ("id", "name", "summary", "skill", "cycle", "state", "why", "parents")
    ended = row["state"] in ("retired", "replaced")
    return {
        **{key: row[key] for key in keys},
        "cells": cells,
        "end": _end(row) if ended and cells[-1][0] == row["last_cycle"] else "",
    }


def _end(row: Answer) -> str:
    if row["event"] is not None:
        return _ENDS.get(row["event"]["why"], "failed")
    return "replaced" if row["state"] == "replaced" else str(row["why"]).partition(":")[0].partition(" ")[0]


def _place(bars: Sequence[Answer]) -> int:
    """Give each bar the lowest lane that is free from its first to its last cell; returns how many lanes there are."""
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    lanes = 0
    for bar in sorted(bars, key=lambda bar: bar["cells"][0][0]):
        start, end = bar["cells"][0][0], bar["cells"][-1][0]
        while busy and busy[0][0] < start:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            bar["lane"] = heapq.heappop(free)
        else:
            bar["lane"], lanes = lanes, lanes + 1
        heapq.heappush(busy, (end, bar["lane"]))
    return lanes


def _count(bars: Sequence[Answer], cycle: int) -> Answer:
    """What happened in one cycle. An environment is learnable at a win rate in ``LEARNABLE``."""
    rates = [rate for bar in bars for at, rate, _ in bar["cells"] if at == cycle and rate is not None]
    ends = Counter(bar["end"] for bar in bars if bar["end"] and bar["cells"][-1][0] == cycle)
    return {
        "cycle": cycle,
        "played": len(rates),
        "entered": sum(bar["cycle"] == cycle for bar in bars),
        "learnable": sum(LEARNABLE[0] <= rate <= LEARNABLE[1] for rate in rates),
        **{end: ends[end] for end in ("mastered", "hopeless", "failed", "replaced")},
    }
