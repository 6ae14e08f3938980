"""What a hint adds in held-out games, at the start of a run and after its evaluated cycles: arms, gap, written work.

The arms of one game share their seeds, so the gap is a mean over pairs of episodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from spadework.errors import ConfigError
from spadework.evals.records import ItemResult, SuiteResult, read_results
from spadework.intervals import Interval, mean_interval, share_interval

UNHINTED, HINTED, PLACEBO = "heldout", "heldout-hinted", "heldout-placebo"
"""The suites of the three arms."""
START = -1
"""Stands for the model before the first cycle."""


@dataclass(frozen=True, slots=True)
class Gap:
    """One group of games at one point of a run."""

    cycle: int
    """Counted from 0; ``START`` before the first."""
    group: str
    unhinted: Interval
    hinted: Interval
    placebo: Interval
    """With another game's hint; n is 0 where that was not played."""
    gap: Interval
    """Hinted minus unhinted wins, over pairs of one seed."""
    over_placebo: Interval
    """Hinted minus placebo wins, likewise."""
    work: Interval
    """Share of the unhinted episodes whose replies hold more than the answer."""


def read_gaps(run: Path) -> list[Gap]:
    """The gaps of every evaluated point of a run, in order; empty where nothing was held out."""
    gaps: list[Gap] = []
    folders = {START: run / "evals" / "start"}
    for folder in sorted((run / "evals").glob("[0-9]*")):
        folders[int(folder.name)] = folder
    for cycle, folder in folders.items():
        try:
            results = read_results(folder)
        except ConfigError:
            continue  # a point that was not evaluated
        if UNHINTED in results and HINTED in results:
            gaps += _gaps_of(cycle, results)
    return gaps


def as_json(gaps: Sequence[Gap]) -> list[dict[str, Any]]:
    """The gaps as plain data; what is not known is ``None``."""
    return [{key: _plain(value) for key, value in asdict(gap).items()} for gap in gaps]


def _gaps_of(cycle: int, results: Mapping[str, SuiteResult]) -> list[Gap]:
    arms = {name: result.items for name, result in results.items() if name in (UNHINTED, HINTED, PLACEBO)}
    groups = dict.fromkeys(item.group for item in arms[UNHINTED])
    return [_gap(cycle, group, {name: _group(items, group) for name, items in arms.items()}) for group in groups]


def _gap(cycle: int, group: str, arms: Mapping[str, Mapping[str, ItemResult]]) -> Gap:
    unhinted, hinted, placebo = (arms.get(name, {}) for name in (UNHINTED, HINTED, PLACEBO))
    return Gap(
        cycle=cycle,
        group=group,
        unhinted=_wins(unhinted),
        hinted=_wins(hinted),
        placebo=_wins(placebo),
        gap=_difference(hinted, unhinted),
        over_placebo=_difference(hinted, placebo),
        work=share_interval(sum(bool(item.detail.get("work")) for item in unhinted.values()), len(unhinted)),
    )


def _group(items: Sequence[ItemResult], group: str) -> dict[str, ItemResult]:
    return {item.id: item for item in items if item.group == group}


def _wins(items: Mapping[str, ItemResult]) -> Interval:
    return share_interval(sum(item.score >= 1.0 for item in items.values()), len(items))


def _difference(first: Mapping[str, ItemResult], second: Mapping[str, ItemResult]) -> Interval:
    pairs = [first[name].score - second[name].score for name in first if name in second]
    return mean_interval(pairs, -1.0, 1.0)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return None if isinstance(value, float) and value != value else value  # noqa: PLR0124 - NaN is no JSON
