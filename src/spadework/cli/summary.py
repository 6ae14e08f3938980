"""What stands on the screen when a run ends: held-out games, first against last cycles, and where the picture lies."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from spadework.analysis.closing import Closing, closing
from spadework.analysis.curves import plot_run
from spadework.errors import ConfigError
from spadework.evals.gap import START, Gap, as_json, read_gaps
from spadework.intervals import Interval
from spadework.runs.files import write_text
from spadework.runs.store import RunStore


def print_summary(store: RunStore, console: Console) -> None:
    """The tables; ``summary.json`` and ``curves.png`` in the run directory hold the same figures."""
    gaps, closed = read_gaps(store.path), closing(store)
    if gaps:
        console.print(_gap_table(gaps))
    console.print(_closing_table(closed))
    written = len([row for row in store.rows("environments") if row["design_id"]])
    console.print(
        f"{written} environments of the model's own were played; {len(store.rows('scores'))} designs were paid"
    )
    summary = {"held_out": as_json(gaps), "closing": _without_nan(asdict(closed))}
    picture = store.path / "curves.png"
    try:
        write_text(store.path / "summary.json", json.dumps(summary, indent=1) + "\n")
        plot_run(store.metrics(), picture, store.path.name, gaps=as_json(gaps))
        console.print(f"curves: {picture}", highlight=False, soft_wrap=True)
    except ConfigError as error:
        console.print(str(error), markup=False)
    except OSError as error:  # the run is whole without its picture
        picture.unlink(missing_ok=True)
        console.print(f"curves: {picture} cannot be written: {error.strerror}", markup=False, soft_wrap=True)


def _gap_table(gaps: list[Gap]) -> Table:
    table = Table(title="share of held-out games won, with 95 % intervals", title_justify="left")
    for heading in ("held out", "when", "no hint", "own hint", "another's hint", "own minus none", "work unasked"):
        table.add_column(heading, justify="left" if heading in ("held out", "when") else "right")
    for group in dict.fromkeys(gap.group for gap in gaps):
        for gap in [one for one in gaps if one.group == group]:
            when = "start" if gap.cycle == START else f"cycle {gap.cycle + 1}"
            cells = (gap.unhinted, gap.hinted, gap.placebo, gap.gap, gap.work)
            table.add_row(f"{group} (n {gap.unhinted.n})", when, *map(_told, cells))
    return table


def _closing_table(closed: Closing) -> Table:
    title = f"first {closed.span} against last {closed.span} of {closed.cycles} cycles"
    table = Table(title=title, title_justify="left")
    table.add_column("measure")
    table.add_column("first", justify="right", no_wrap=True)
    table.add_column("last", justify="right", no_wrap=True)
    for row in closed.rows:
        cells = [f"{_told(value)}  n {value.n}" for value in (row.first, row.last)]
        table.add_row(f"{row.label}, of {row.unit}", *cells)
    return table


def _told(value: Interval) -> str:
    if not value.n:
        return "–"
    if value.low != value.low:
        return f"{value.mean:.2f}"
    return f"{value.mean:.2f} ({value.low:.2f} to {value.high:.2f})"


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and value != value else value  # noqa: PLR0124 - NaN is no JSON
