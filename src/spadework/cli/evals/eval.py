"""``spadework eval``: score a checkpoint, a model or an endpoint, and read, compare and choose by the results."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from spadework.cli.evals import contamination
from spadework.cli.evals import tables as eval_tables
from spadework.cli.faults import print_faults
from spadework.errors import ConfigError, causes
from spadework.evals.heldout import split_by_document
from spadework.evals.records import SuiteResult, read_results
from spadework.evals.reference import source
from spadework.evals.registry import SUITES, suite_info, suite_module
from spadework.evals.selection import read_curve
from spadework.jobs.eval_subject import add_subject, run_suites, transfer
from spadework.observer import NullObserver
from spadework.selfplay.pool.files import load_pool, write_pool
from spadework.types import Fault

REFERENCES = ("main", "all", "4b", "8b", "30b", "none")
HELD_OUT = "heldout"
SETTINGS = ("preset", "sampling", "data", "versions", "notes", "aggregate")
"""Parts of a ``Setting`` that two results must share to be compared; items are paired, so ``selection`` may differ."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.epilog = (
        "suites: "
        + "; ".join(f"{name}: {text}" for name, text in SUITES.items())
        + ("; heldout: environments that nobody trained on, both arms")
    )
    parser.add_argument("--data-help", metavar="SUITE", help="where a suite's data comes from, and in which format")
    parser.add_argument("--check", type=Path, metavar="FILE", help="with --data-help: check this file")
    verbs = parser.add_subparsers(dest="what", metavar="SUITE or VERB")
    first, *others = (*SUITES, HELD_OUT)
    _add_suites(verbs.add_parser(first, aliases=others, help="score these suites (several may be named)"))
    compare = verbs.add_parser("compare", help="what the second results add to the first, item by item")
    compare.add_argument("first", type=Path, metavar="A", help="a folder of results, or one SUITE.json")
    compare.add_argument("second", type=Path, metavar="B")
    show = verbs.add_parser("show", help="the table of results that are there")
    show.add_argument("folder", type=Path, metavar="DIR")
    show.add_argument("--reference", choices=REFERENCES, default="main", help="which of the paper's rows stand beside")
    curve = verbs.add_parser("curve", help="the evaluated checkpoints of a run: averages, the best and the last")
    curve.add_argument("run", type=Path, metavar="RUN")
    moved = verbs.add_parser("transfer", help="a run's checkpoints against its environments by age, as a matrix")
    moved.add_argument("run", type=Path, metavar="RUN")
    moved.add_argument("--ages", type=int, default=3, metavar="N", help="spans of cycles, equal in environments")
    moved.add_argument("-n", type=int, default=4, metavar="N", help="episodes an environment and checkpoint")
    moved.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="override a setting")
    moved.add_argument("--jobs", type=int, default=0, metavar="N", help="episodes at a time; 0 for all")
    moved.add_argument("--out", type=Path, metavar="DIR", help="where results go, a folder a checkpoint (default: RUN)")
    split = verbs.add_parser("split", help="split a pool by grounding document: to train on, and held out")
    split.add_argument("pool", type=Path, metavar="POOL")
    split.add_argument("--share", type=float, default=0.2, help="of the documents that is held out")
    split.add_argument("--seed", type=int, default=0)
    split.add_argument("--out", type=Path, required=True, metavar="DIR", help="gets train.parquet and heldout.parquet")
    found = verbs.add_parser("contamination", help="overlap of corpus and pool with the suites' texts")
    contamination.add_arguments(found)


def _add_suites(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("more", nargs="*", choices=[[], *SUITES, HELD_OUT], metavar="SUITE")
    add_subject(parser)
    parser.add_argument("--preset", default="paper", help="a published way to run it (default: paper)")
    parser.add_argument("--data", action="append", default=[], metavar="[SUITE=]FILE", help="data that is not shipped")
    parser.add_argument("--pool", type=Path, metavar="POOL", help="heldout: the environments")
    parser.add_argument("-n", type=int, metavar="N", help="tries at each problem (heldout: episodes an arm)")
    parser.add_argument("--limit", type=int, metavar="N", help="ask only N problems of each group")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="only this group, or ids that begin so"
    )
    parser.add_argument(
        "--sampling", action="append", default=[], metavar="KEY=VALUE", help="change the preset, e.g. max_tokens=512"
    )
    parser.add_argument("--jobs", type=int, default=16, metavar="N", help="items at a time; 0 for all")
    parser.add_argument("--retry-faults", action="store_true", help="try items again that ended in a fault")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where results go (default: the run, else evals/MODEL)")
    parser.add_argument(
        "--reference", choices=REFERENCES, default="main", help="which of the paper's rows stand beside"
    )


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    console = Console(highlight=False)
    if args.data_help is not None:
        return _data_help(args.data_help, args.check)
    if args.what is None:
        raise ConfigError(f"name a suite ({', '.join((*SUITES, HELD_OUT))}) or a verb; see spadework eval --help")
    if args.what == "contamination":
        return contamination.run(args)
    if args.what in ("compare", "show", "curve", "split"):
        {"compare": _compare, "show": _show, "curve": _curve, "split": _split}[args.what](args, console)
        return 0
    try:
        if args.what == "transfer":
            console.print(eval_tables.matrix_table(asyncio.run(transfer(args, Counter(console)))))
            return 0
        folder, results = asyncio.run(run_suites([args.what, *args.more], args, Counter(console)))
    except KeyboardInterrupt:
        console.print("stopped; the same command goes on")
        return 130
    _print_results(results, args.reference, console)
    console.print(f"results: {folder}", soft_wrap=True)
    return 0


class Counter(NullObserver):
    """Prints how far a suite is, and how long it will take."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._suite, self._total, self._done, self._began, self._score = "", 1, 0, 0.0, 0.0
        self._start, self._faults, self._shown = 0, 0, 0.0

    def stage(self, cycle: int | None, name: str, total: int, done: int = 0) -> None:
        """A suite begins."""
        self._suite, self._total, self._done, self._start = name, total, done, done
        self._score, self._faults, self._began, self._shown = 0.0, 0, time.monotonic(), time.monotonic()
        there = f", {done} of them done already" if done else ""
        self.console.print(f"{name}: {total} items{there}")

    def advance(self, tokens: int, score: float | None = None, fault: Fault | None = None) -> None:
        """An item ended."""
        self._done += 1
        self._score += score or 0.0
        self._faults += fault is not None
        now = time.monotonic()
        if now - self._shown < 10 and self._done < self._total:
            return
        self._shown, new = now, self._done - self._start
        left = (now - self._began) / new * (self._total - self._done)
        faults = f", {self._faults} faults" if self._faults else ""
        self.console.print(
            f"{self._suite}: {self._done}/{self._total}, {100 * self._score / new:.1f} % so far{faults}; "
            f"{int(left // 60)} min {int(left % 60):02d} s left"
        )


def _data_help(name: str, check: Path | None) -> int:
    print(suite_info(name).data_help)
    if check is not None:
        module = suite_module(name)
        if not hasattr(module, "check_data"):
            raise ConfigError(f"{name}: takes no file")
        print(module.check_data(check))
    return 0


def _compare(args: argparse.Namespace, console: Console) -> None:
    first, second = read_results(args.first), read_results(args.second)
    if not set(first) & set(second):
        raise ConfigError(f"{args.first} and {args.second} share no suite")
    for suite in set(first) & set(second):
        one, two = (dataclasses.asdict(results[suite].setting) for results in (first, second))
        differ = [f"{name} {one[name]} and {two[name]}" for name in SETTINGS if one[name] != two[name]]
        if differ:
            told = f"{suite}: the two were run under different settings: {'; '.join(differ)}"
            console.print(told, soft_wrap=True, markup=False)
    console.print(eval_tables.compare_table(first, second))
    console.print("p: two-sided, by flipping the signs of the problems' differences (McNemar's exact test for one try)")


def _show(args: argparse.Namespace, console: Console) -> None:
    _print_results(list(read_results(args.folder).values()), args.reference, console)


def _print_results(results: Sequence[SuiteResult], which: str, console: Console) -> None:
    console.print(eval_tables.result_table(results))
    faults = [item.fault for result in results for item in result.items if item.fault is not None]
    print_faults(console, causes(faults))
    for result in results:
        if result.dropped:
            fields = ", ".join(result.dropped)
            told = f"{result.setting.suite}: the endpoint refused {fields}; it sampled without, as it does by default"
            console.print(told, soft_wrap=True)
    beside = eval_tables.reference_table(results, which)
    if beside is not None:
        console.print()
        console.print(beside)
        console.print(f"* {source()}; other prompts and engines than here: a guide, no match", soft_wrap=True)


def _curve(args: argparse.Namespace, console: Console) -> None:
    curve = read_curve(args.run)
    if not curve.points:
        raise ConfigError(f"{args.run}: holds no evaluation; set run.evaluate_every, or `spadework eval SUITE --run`")
    console.print(eval_tables.curve_table(curve))
    console.print(
        f"best: cycle {curve.best.cycle + 1}, last: cycle {curve.last.cycle + 1}, by the average of: "
        f"{', '.join(curve.shared)}",
        soft_wrap=True,
    )
    trajectory = curve.trajectory()
    if trajectory == trajectory:  # noqa: PLR0124 - not NaN
        console.print(f"average of the six suites along the way: {100 * trajectory:.1f} %")


def _split(args: argparse.Namespace, console: Console) -> None:
    train, held_out = split_by_document(load_pool(args.pool), args.share, args.seed)
    if not train or not held_out:
        raise ConfigError(f"{args.pool}: a share of {args.share} leaves one side empty ({len(train)}, {len(held_out)})")
    for name, side in (("train", train), ("heldout", held_out)):
        write_pool(args.out / f"{name}.parquet", side)
        documents = len({one.document_id for one in side})
        console.print(f"{args.out / name}.parquet: {len(side)} environments of {documents} documents", soft_wrap=True)
