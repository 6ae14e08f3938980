"""``spadework eval contamination``: whether a corpus or a pool holds tasks of the benchmarks."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from spadework.corpus.documents import Corpus
from spadework.errors import ConfigError
from spadework.evals.contamination import LONG, SHORT, Detector, Hit, SuiteOverlap, suite_texts
from spadework.evals.registry import SUITES, SuiteOptions
from spadework.resources import cache_dir
from spadework.runs.export import write_jsonl
from spadework.selfplay.pool.files import load_pool


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="INPUT", help="a corpus (.jsonl), or pools, folders and programs"
    )
    parser.add_argument(
        "--suite",
        action="append",
        default=[],
        metavar="NAME",
        help="check this suite (default: all whose data is here)",
    )
    parser.add_argument("--data", action="append", default=[], metavar="SUITE=PATH", help="your file of a suite")
    parser.add_argument(
        "--max-share",
        type=float,
        default=0.0,
        metavar="SHARE",
        help=f"exit 1 when documents hold {LONG} words in a row of more than this share of a suite (default: 0)",
    )
    parser.add_argument("--show", type=int, default=20, metavar="N", help="documents to list (default: 20)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write every hit, as JSON lines")


def run(args: argparse.Namespace) -> int:
    """Run the verb; exit status 1 when a suite is over the threshold."""
    console = Console(highlight=False)
    detector = asyncio.run(_load(args.suite, _files(args.data), console))
    hits: list[Hit] = []
    seen = 0
    for name, text in _documents(args.paths):
        seen += 1
        hits += detector.check(name, text)
    overlaps = detector.overlaps()
    console.print(_sheet(overlaps))
    _list(hits, args.show, console)
    if args.out is not None:
        write_jsonl(args.out, map(dataclasses.asdict, hits))
        console.print(f"{len(hits)} hits in {args.out}", soft_wrap=True)
    over = [one.suite for one in overlaps if one.share > args.max_share]
    told = f"over {args.max_share:.1%} of the items found: {', '.join(over)}" if over else "no suite over the threshold"
    console.print(f"{seen} documents; {told}")
    return 1 if over else 0


def _files(pairs: Sequence[str]) -> dict[str, Path]:
    """The user's files by suite. Raises ``ConfigError``."""
    files = {}
    for pair in pairs:
        suite, mark, path = pair.partition("=")
        if not mark or suite not in SUITES:
            raise ConfigError(f"--data {pair}: wanted SUITE=PATH, with one of {', '.join(SUITES)}")
        files[suite] = Path(path)
    return files


async def _load(named: Sequence[str], files: dict[str, Path], console: Console) -> Detector:
    """The suites asked for, else all that can be opened; those that cannot are told. Raises ``ConfigError``."""
    detector = Detector()
    loaded = 0
    for suite in named or SUITES:
        try:
            texts = [pair async for pair in suite_texts(suite, SuiteOptions(data=files.get(suite)))]
        except ConfigError as error:
            if named or suite in files:
                raise
            console.print(f"not checked: {error}", soft_wrap=True, markup=False, style="dim")
            continue
        if not texts:
            console.print(f"not checked: {suite}: give --data {suite}=PATH", style="dim")
            continue
        detector.add_suite(suite, texts)
        loaded += 1
    if not loaded:
        raise ConfigError("no suite can be checked: none has its data here; see `spadework eval --data-help SUITE`")
    return detector


def _documents(paths: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Documents of corpora, and the programs and hints of pools, by a name that finds them again."""
    for path in paths:
        if path.suffix == ".jsonl":
            corpus = Corpus(path, cache_dir() / "corpus", max_words=10**9)
            for place in range(len(corpus)):
                document = corpus[place]
                yield f"{path.name}:{document.id}", document.text
        else:
            for environment in load_pool(path):
                yield f"{path.name}:{environment.id}", f"{environment.source}\n{environment.hint}"


def _sheet(overlaps: Sequence[SuiteOverlap]) -> Table:
    sheet = Table("suite", "items", f"{LONG} words", "share", f"{SHORT} words", "too short", box=None, pad_edge=False)
    for one in overlaps:
        found = (str(one.found[LONG]), f"{one.share:.1%}", str(one.found[SHORT]), str(one.short))
        sheet.add_row(one.suite, str(one.items), *found)
    return sheet


def _list(hits: Sequence[Hit], most: int, console: Console) -> None:
    """The documents with the most telling hit each, and what they share."""
    worst: dict[str, Hit] = {}
    for hit in sorted(hits, key=lambda hit: (-hit.length, -hit.share)):
        worst.setdefault(hit.document, hit)
    for hit in list(worst.values())[:most]:
        told = f"{hit.document}: {hit.length} words of {hit.suite} {hit.item} ({hit.share:.0%} of it): {hit.phrase}"
        console.print(told, soft_wrap=True, markup=False)
    if len(worst) > most:
        console.print(f"and {len(worst) - most} more documents; --show, or --out for every hit")
