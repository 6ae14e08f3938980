"""``spadework rescore``: recompute rewards and advantages of a run from what it stored, and show what moved."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from spadework.config.differences import config_changes
from spadework.config.files import override_config
from spadework.runs.cycle_record import Score
from spadework.runs.store import RunStore
from spadework.selfplay.score.rescore import Moved, Rescored, moved, rescore, stored_scores

_SHOWN = 40
"""Groups listed one by one; the rest is counted."""
_READ = ("run.cycles", "designer.every", "designer.train", "designer.train_rejected", "designer.rejected_reward")
"""Settings that scoring reads, beside all of ``agent`` and ``reward``."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument("run", type=Path, metavar="RUN", help="run directory")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="override a setting")


def run(args: argparse.Namespace) -> int:
    """Run the verb: 1 when the run's own settings do not give what is stored."""
    store = RunStore.read(args.run)
    try:
        config = store.config
        changed = override_config(config, args.set)
        own = rescore(store, config)
        problems = list(_problems(stored_scores(store), own))
        new = rescore(store, changed) if args.set else own
    finally:
        store.close()
    console = Console(highlight=False)
    for change in config_changes(config, changed):
        if not _is_read(change.key):
            console.print(f"{change.key} changes nothing here: nothing is designed or played again", markup=False)
    for problem in problems:
        console.print(problem, soft_wrap=True, markup=False)
    _print(console, moved(own, new), own, new)
    return int(bool(problems))


def _is_read(key: str) -> bool:
    """Whether scoring depends on a setting."""
    return key.partition(".")[0] in ("agent", "reward") or key in _READ


def _problems(stored: dict[str, Score], own: Rescored) -> Iterator[str]:
    """Where the run's own settings do not give what it stored: the code, or the settings midway, have changed."""
    off = [name for name in {**stored, **own.scores} if stored.get(name) != own.scores.get(name)]
    if off:
        yield f"the run's own settings do not give the stored scores of {len(off)} designs: {', '.join(off[:5])}"
    if own.differing_cycles:
        cycles = ", ".join(map(str, own.differing_cycles[:5]))
        yield f"the run's own settings do not give the stored training rows of cycles {cycles}"


def _print(console: Console, what: Moved, old: Rescored, new: Rescored) -> None:
    if what.designs:
        table = Table("design", "raw", "reward", "advantage", box=None, pad_edge=False)
        for name, was, now in what.designs:
            table.add_row(name, *(_pair(was, now, field) for field in ("raw", "reward", "advantage")))
        console.print(table)
    if what.groups:
        table = Table("group", "episodes", "largest change of an advantage", box=None, pad_edge=False)
        for name in what.groups[:_SHOWN]:
            before, after = old.advantages.get(name, {}), new.advantages.get(name, {})
            episodes = {**before, **after}
            change = max(abs(after.get(one, 0.0) - before.get(one, 0.0)) for one in episodes)
            table.add_row(name, str(len(episodes)), f"{change:.4f}")
        if len(what.groups) > _SHOWN:
            table.add_row(f"and {len(what.groups) - _SHOWN} more")
        console.print(table)
    designs, groups = len({**old.scores, **new.scores}), len({**old.advantages, **new.advantages})
    console.print(f"moved: {len(what.designs)} of {designs} designs, {len(what.groups)} of {groups} agent groups")


def _pair(was: Score | None, now: Score | None, field: str) -> str:
    return " -> ".join("–" if score is None else f"{getattr(score, field):.4f}" for score in (was, now))
