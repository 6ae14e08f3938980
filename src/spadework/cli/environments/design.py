"""``spadework design``: write a pool of environments offline, with the designer's stage alone."""

from __future__ import annotations

import argparse
import asyncio
from functools import partial
from pathlib import Path

from rich.console import Console

from spadework.analysis.designs import outcomes
from spadework.cli.runs.show import attempts_table
from spadework.config.files import load_config
from spadework.errors import ConfigError
from spadework.jobs.design import PoolBook, design_pool


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument("-n", type=int, required=True, metavar="N", help="slots to fill; a failed one stays empty")
    parser.add_argument("--config", default="laptop", help="a TOML file, or the name of a shipped config")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="override a setting")
    parser.add_argument("--seed", type=int, metavar="S", help="seed of documents and sampling (run.seed)")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="POOL.parquet", help="one that holds fewer than N is gone on with"
    )
    parser.add_argument("--jobs", type=int, default=32, metavar="N", help="slots at a time")


def run(args: argparse.Namespace) -> int:
    """Run the verb: 1 when the pool holds fewer than N in the end."""
    seed = [] if args.seed is None else [f"run.seed={args.seed}"]
    config = load_config(args.config, [*args.set, *seed])
    if not config.designer.environments:
        raise ConfigError("designer.environments is 0: this config designs nothing")
    if args.out.suffix != ".parquet":
        raise ConfigError(f"--out {args.out}: the name must end in .parquet")
    book = PoolBook(args.out, config)
    console = Console(highlight=False)
    if book.environments:
        console.print(f"{args.out} holds {len(book.environments)} environments already", soft_wrap=True)
    try:
        asyncio.run(design_pool(config, book, args.n, args.jobs, partial(console.print, soft_wrap=True, markup=False)))
    except KeyboardInterrupt:
        console.print("stopped; the same command goes on")
        return 130
    console.print(attempts_table(outcomes(book.attempts)))
    console.print(
        f"{len(book.environments)} environments in {args.out}; rejections in {book.rejections}", soft_wrap=True
    )
    return int(len(book.environments) < args.n)
