"""Results of evaluations as tables for the terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rich.table import Table

from spadework.evals import reference
from spadework.evals.bootstrap import mean_score, paired
from spadework.evals.records import ItemResult, SuiteResult
from spadework.evals.selection import Curve
from spadework.intervals import Interval


def result_table(results: Sequence[SuiteResult]) -> Table:
    """A line a suite and group: score in per cent, interval, denominator and faults."""
    table = Table(box=None, pad_edge=False)
    for name in ("suite", "score %", "95 % interval", "n", "faults"):
        table.add_column(name, justify="left" if name == "suite" else "right", no_wrap=True)
    for result in results:
        for name, (interval, items) in _columns(result).items():
            faults = sum(item.fault is not None for item in items)
            table.add_row(_indent(name), _percent(interval.mean), _ends(interval), str(interval.n), str(faults))
    return table


def reference_table(results: Sequence[SuiteResult], which: str) -> Table | None:
    """These results as one row, above rows of the paper's tables; ``None`` where it has none for them."""
    own = {name: interval for result in results for name, (interval, _) in _columns(result).items()}
    rows = reference.reference_rows(own, which)
    names = [name for name in own if any(name in row.values for row in rows)]
    if not rows:
        return None
    table = Table(box=None, pad_edge=False)
    table.add_column("%")
    for name in names:
        table.add_column(name.replace("/", "/\n"), justify="right")
    table.add_row("these results", *(_percent(own[name].mean) for name in names))
    for row in rows:
        cells = [f"{row.values[name]:.1f}" if name in row.values else "" for name in names]
        table.add_row(f"* {row.model}", *cells, style="dim")
    return table


def compare_table(first: Mapping[str, SuiteResult], second: Mapping[str, SuiteResult]) -> Table:
    """What the second adds on the items of both, with the paired interval and test."""
    table = Table(box=None, pad_edge=False)
    for name in ("suite", "first %", "second %", "difference", "95 % interval", "p", "pairs"):
        table.add_column(name, justify="left" if name == "suite" else "right")
    for suite in [name for name in first if name in second]:
        groups = ["", *(name for name in first[suite].groups() if name in second[suite].groups())]
        for group in groups:
            one, two = (_of(result[suite], group) for result in (first, second))
            common = {item.id for item in one} & {item.id for item in two}
            one, two = ([item for item in items if item.id in common] for items in (one, two))
            by_group = not group and first[suite].setting.aggregate == "groups"
            difference, p = paired(one, two, by_group=by_group)
            means = [_percent(mean_score(items, by_group=by_group)) for items in (one, two)]
            shown = "–" if math.isnan(p) else f"{p:.3g}"
            name = f"{suite}/{group}" if group else suite
            table.add_row(
                _indent(name), *means, _percent(difference.mean, sign=True), _ends(difference), shown, str(len(common))
            )
    return table


def matrix_table(rows: Mapping[str, SuiteResult]) -> Table:
    """Who (a line each) against the groups of what they were asked (a column each)."""
    names = list(dict.fromkeys(name for result in rows.values() for name in result.groups()))
    table = Table("checkpoint", *names, "all", box=None, pad_edge=False)
    for who, result in rows.items():
        groups = result.groups()
        cells = [groups[name] if name in groups else Interval(math.nan) for name in names]
        table.add_row(who, *(f"{_percent(one.mean)} ({_ends(one)})" for one in (*cells, result.score())))
    return table


def curve_table(curve: Curve) -> Table:
    """A line a checkpoint, its columns and average; the best and the last are marked."""
    names = list(dict.fromkeys(name for point in curve.points for name in point.columns))
    table = Table("cycle", *names, "average", "", box=None, pad_edge=False)
    for point in curve.points:
        marks = [word for word, one in (("best", curve.best), ("last", curve.last)) if one is point]
        cells = [_percent(point.columns.get(name, math.nan)) for name in names]
        table.add_row(str(point.cycle + 1), *cells, _percent(curve.average(point)), " ".join(marks))
    return table


def _columns(result: SuiteResult) -> dict[str, tuple[Interval, Sequence[ItemResult]]]:
    suite = result.setting.suite
    groups = {f"{suite}/{name}": (interval, _of(result, name)) for name, interval in result.groups().items()}
    return {suite: (result.score(), result.items), **groups}


def _of(result: SuiteResult, group: str) -> list[ItemResult]:
    return [item for item in result.items if not group or item.group == group]


def _indent(name: str) -> str:
    return f"  {name.partition('/')[2]}" if "/" in name else name


def _percent(value: float, *, sign: bool = False) -> str:
    return "–" if math.isnan(value) else f"{100 * value:{'+' if sign else ''}.1f}"


def _ends(interval: Interval) -> str:
    return "–" if math.isnan(interval.low) else f"{100 * interval.low:.1f} to {100 * interval.high:.1f}"
