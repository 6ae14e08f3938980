"""``spadework rank``: play environments or prompts in both arms and rank them by what the hint adds. Trains nothing."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table as Sheet

from spadework import build
from spadework.cli.environments.model import add_model, model_config
from spadework.cli.environments.names import shown_names
from spadework.cli.faults import print_faults
from spadework.cli.ticker import Ticker
from spadework.config import RunConfig
from spadework.envs.check.program import in_order
from spadework.errors import ConfigError, RunError, cause_lines
from spadework.jobs.engine import open_policy
from spadework.jobs.losses import Losses
from spadework.ranking.answers import Grader, load_prompts
from spadework.ranking.rank import Item, Ranked, Table, by_regret, digest, rank_item
from spadework.runs.export import SUFFIXES, write_jsonl, write_parquet
from spadework.runs.files import write_whole
from spadework.selfplay.pool.files import load_pool
from spadework.types import Environment


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="INPUT", help="pools, folders or programs, or a .jsonl of prompts"
    )
    add_model(parser)
    parser.add_argument("-n", type=int, default=8, metavar="N", help="episodes an item and arm")
    parser.add_argument("--jobs", type=int, default=8, metavar="N", help="items at a time")
    parser.add_argument("--top", type=int, metavar="N", help="keep the N of highest regret")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help=f"write the ranking ({' or '.join(SUFFIXES)}); results so far stand beside it, and a rerun goes on",
    )


def run(args: argparse.Namespace) -> int:
    """Run the verb: 1 when an item gave nothing. Raises ``RunError`` when none gave anything."""
    config = model_config(args)
    if args.out is not None and args.out.suffix not in SUFFIXES:
        raise ConfigError(f"--out {args.out}: the name must end in {' or '.join(SUFFIXES)}")
    items = _items(args.paths)
    setting = json.dumps(
        [args.n, config.run.seed, *(getattr(config, s).model_dump() for s in ("model", "play", "agent"))]
    )
    console = Console(highlight=False)
    book = _Book(args.out.with_suffix(".items.jsonl") if args.out else None)
    wanted = {digest(item, setting): item for item in items}
    missing = [(place, item) for place, (key, item) in enumerate(wanted.items()) if key not in book.results]
    if len(missing) < len(wanted):
        console.print(f"{len(wanted) - len(missing)} of {len(wanted)} items were ranked already")
    try:
        if missing:
            asyncio.run(_rank(config, missing, args, setting, book, console))
    except KeyboardInterrupt:
        console.print("stopped; the same command goes on" if args.out else "stopped")
        return 130
    finally:
        book.close()
    results = [book.results[key] for key in wanted]
    wrong = Counter[str]()
    for one in results:
        wrong.update(one.causes)
    if not any(one.episodes for one in results):
        raise RunError(f"nothing was ranked: every episode failed: {'; '.join(cause_lines(wrong))}")
    ranked = by_regret(results)[: args.top]
    console.print(_sheet(ranked, _names(items)))
    print_faults(console, wrong)
    if args.out is not None:
        rows = [_row(place, one, wanted[one.digest]) for place, one in enumerate(ranked, 1)]
        (write_jsonl if args.out.suffix == ".jsonl" else write_parquet)(args.out, rows)
        console.print(f"{len(rows)} items in {args.out}", soft_wrap=True)
    return int(not all(one.episodes for one in results))


def _items(paths: Sequence[Path]) -> list[Item]:
    """Every item once. Raises ``ConfigError`` for an environment that has no hint."""
    items: list[Item] = []
    for path in paths:
        items += load_prompts(path) if path.suffix == ".jsonl" else load_pool(path)
    bare = [item for item in items if not item.hint]
    if bare:
        first = _names(bare)[bare[0].id]
        raise ConfigError(f"{len(bare)} of {len(items)} items have no hint, the first {first!r}: nothing to rank by")
    return items


def _names(items: Sequence[Item]) -> dict[str, str]:
    """What each item is called in tables, by id."""
    names = shown_names([item for item in items if isinstance(item, Environment)])
    return {item.id: names.get(item.id, item.id) for item in items}


class _Book:
    """Results by digest; on disk one JSON line each, appended as they come in.

    An item that gave nothing stays off the disk, so that the same command tries it again.
    """

    def __init__(self, path: Path | None) -> None:
        self.results: dict[str, Ranked] = {}
        self._file: TextIO | None = None
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text("utf-8").split("\n") if path.exists() else []
        for line in lines[:-1]:  # what follows the last line end was torn off by a kill
            row = _record(line, path)
            if row.episodes:
                self.results[row.digest] = row
        if lines and lines[-1]:
            write_whole(path, lambda target: _write_lines(target, lines[:-1]))
        self._file = path.open("a", encoding="utf-8")

    def add(self, ranked: Ranked) -> None:
        """Take in one result."""
        self.results[ranked.digest] = ranked
        if self._file is not None and ranked.episodes:
            self._file.write(json.dumps(dataclasses.asdict(ranked)) + "\n")
            self._file.flush()

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()


def _write_lines(path: Path, lines: Sequence[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def _record(line: str, path: Path) -> Ranked:
    try:
        return Ranked(**json.loads(line))
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{path}: holds a line that is no result ({error}); mend it, or move it away") from None


async def _rank(
    config: RunConfig,
    items: Sequence[tuple[int, Item]],
    args: argparse.Namespace,
    setting: str,
    book: _Book,
    console: Console,
) -> None:
    names, losses, grader = _names([item for _, item in items]), Losses(), Grader()
    tally, total = _Tally(), 2 * args.n * len(items)
    note = partial(console.print, soft_wrap=True, markup=False)
    state = Ticker(console, lambda: f"{tally.episodes} of {total} episodes")
    try:
        async with state, open_policy(config, note) as (policy, sandbox):
            table = Table(
                policy=policy,
                sandbox=sandbox,
                settings=lambda domain: build.build_play(config, domain),
                episodes=args.n,
                run_seed=config.run.seed,
                grader=grader,
                on_episode=tally.add,
            )
            async for (_, item), found in in_order(
                items, lambda one: rank_item(table, one[1], one[0], setting), args.jobs
            ):
                if isinstance(found, Exception):
                    raise found
                book.add(found)
                note(f"{names[item.id]}: {_told(found)}")
                losses.take(found.causes, lost=found.lost)
    finally:
        await grader.aclose()


class _Tally:
    """How many episodes have ended."""

    def __init__(self) -> None:
        self.episodes = 0

    def add(self) -> None:
        """One more."""
        self.episodes += 1


def _told(ranked: Ranked) -> str:
    """What a ranked item showed, as a line for people."""
    if not ranked.episodes:
        return f"nothing: {'; '.join(cause_lines(ranked.causes))}"
    if math.isnan(ranked.regret):
        return "one arm alone, the other failed"
    return f"regret {ranked.regret:+.2f} ({ranked.low:+.2f} to {ranked.high:+.2f})"


def _row(place: int, ranked: Ranked, item: Item) -> dict[str, Any]:
    """A line of the ranking: the figures, and the item itself as it may be trained on."""
    figures = {
        key: value for key, value in dataclasses.asdict(ranked).items() if key not in ("digest", "causes", "lost")
    }
    content = {name: getattr(item, name, "") for name in ("prompt", "answer", "grader", "source", "hint")}
    return {"rank": place, **figures, **content}


def _sheet(ranked: Sequence[Ranked], names: Mapping[str, str]) -> Sheet:
    sheet = Sheet(box=None, pad_edge=False)
    for name in ("rank", "item", "unhinted", "hinted", "regret", "95 % interval", "faults"):
        sheet.add_column(name, no_wrap=True)
    for place, one in enumerate(ranked, 1):
        ends = "–" if math.isnan(one.low) else f"{one.low:.2f} to {one.high:.2f}"
        figures = ["–" if math.isnan(value) else f"{value:.2f}" for value in (one.unhinted, one.hinted, one.regret)]
        sheet.add_row(str(place), names[one.id], *figures, ends, str(one.faults))
    return sheet
