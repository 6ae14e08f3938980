"""``spadework runs``: list run directories, and show what is in one."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from spadework.analysis.designs import outcomes
from spadework.cli.progress import COLUMNS
from spadework.config.differences import config_changes
from spadework.config.files import default_config
from spadework.errors import SpadeworkError
from spadework.runs.reading import read_designs
from spadework.runs.store import RunStore


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="a line for each run below a folder")
    listing.add_argument("dir", nargs="?", type=Path, default=Path("runs"), metavar="DIR", help="default: runs")
    showing = actions.add_parser("show", help="settings, environments, rejections and last metrics of one run")
    showing.add_argument("run", type=Path, metavar="RUN", help="run directory")
    for action in (listing, showing):
        action.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    if args.action == "list":
        runs = [_line(path.parent) for path in sorted(args.dir.glob("**/run.sqlite"))]
        if args.json:
            print(json.dumps(runs, indent=1))
        else:
            _print_list(runs, args.dir)
        return 0
    shown = _summary(args.run)
    if args.json:
        print(json.dumps(shown, indent=1))
    else:
        _print_run(shown)
    return 0


def _line(path: Path) -> dict[str, Any]:
    """What the list says of a run; of one that cannot be read, why not."""
    try:
        store = RunStore.read(path)
        try:
            return _facts(store)
        finally:
            store.close()
    except SpadeworkError as error:
        return {"run": str(path), "problem": str(error)}


def _facts(store: RunStore) -> dict[str, Any]:
    config = store.config
    return {
        "run": str(store.path),
        "model": config.model.name,
        "domain": config.domain,
        "cycles": len(store.episode_files()),
        "of": config.run.cycles,
        "bytes": _bytes(store.path),
        "metrics": {name: _number(points[-1][1]) for name, points in store.metrics().items()},
    }


def _summary(path: Path) -> dict[str, Any]:
    store = RunStore.read(path)
    try:
        return {
            **_facts(store),
            "settings": [str(change) for change in config_changes(default_config(), store.config)],
            "attempts": outcomes(read_designs(store)),
            "environments": _environments(store),
        }
    finally:
        store.close()


def _environments(store: RunStore) -> list[dict[str, Any]]:
    """Each environment with the cycles that it was played in and its last figures."""
    plays: dict[str, dict[str, Mapping[str, Any]]] = {}
    cycles: dict[str, set[int]] = {}
    for play in store.rows("plays"):
        plays.setdefault(play["environment_id"], {})[play["arm"]] = play
        cycles.setdefault(play["environment_id"], set()).add(play["cycle"])
    environments = {row["id"]: row for row in store.rows("environments")}
    shown = []
    for name, row in environments.items():
        arms = plays.get(name, {})
        figures = {f"{arm}_win_rate": arms[arm]["win_rate"] if arm in arms else None for arm in ("unhinted", "hinted")}
        described = {key: row[key] for key in ("id", "cycle", "skill", "document_id")}
        shown.append({**described, "cycles_played": len(cycles.get(name, ())), **figures})
    return shown


def _print_list(runs: Sequence[Mapping[str, Any]], folder: Path) -> None:
    console = Console()
    if not runs:
        console.print(f"no run below {folder}", highlight=False)
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("run", overflow="fold")
    for short in ["model", "cycles", *COLUMNS.values(), "size"]:
        table.add_column(short, justify="left" if short == "model" else "right")
    for row in runs:
        name = str(Path(row["run"]).relative_to(folder))
        if "problem" in row:
            table.add_row(name, "broken")
            continue
        figures = [_text(row["metrics"].get(metric)) for metric in COLUMNS]
        table.add_row(name, row["model"], f"{row['cycles']}/{row['of']}", *figures, _size(row["bytes"]))
    console.print(table)
    for row in runs:
        if "problem" in row:
            console.print(row["problem"], markup=False, soft_wrap=True)


def _print_run(shown: Mapping[str, Any]) -> None:
    console = Console(highlight=False)
    head = f"{shown['run']}: {shown['model']}, {shown['domain']}, {shown['cycles']} of {shown['of']} cycles"
    console.print(f"{head}, {_size(shown['bytes'])}", soft_wrap=True, markup=False)
    console.print("\nsettings that differ from the defaults:")
    for line in shown["settings"]:
        console.print(f"  {line}", soft_wrap=True, markup=False)
    console.print("", attempts_table(shown["attempts"]), "")
    table = Table("environment", "skill", "cycle", "played", "win rate", "hinted", box=None, pad_edge=False)
    for row in shown["environments"]:
        rates = [_text(row["unhinted_win_rate"]), _text(row["hinted_win_rate"])]
        table.add_row(row["id"], row["skill"], str(row["cycle"]), str(row["cycles_played"]), *rates)
    console.print(table, "")
    table = Table("last metrics", "", box=None, pad_edge=False)
    for name, value in sorted(shown["metrics"].items()):
        table.add_row(name, "–" if value is None else f"{value:.6g}")
    console.print(table)


def attempts_table(counts: Mapping[str, int]) -> Table:
    """``analysis.designs.outcomes`` as a table."""
    table = Table("attempts", "count", "share", box=None, pad_edge=False)
    for name, count in counts.items():
        table.add_row(name, str(count), f"{count / max(1, sum(counts.values())):.0%}")
    return table


def _bytes(folder: Path) -> int:
    """Size of all files; one that a run in progress takes away meanwhile counts nothing."""
    total = 0
    for file in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            total += file.stat().st_size if file.is_file() else 0
    return total


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _text(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"
