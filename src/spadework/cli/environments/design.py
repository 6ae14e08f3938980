"""``spadework design``: write a pool of environments offline, with the designer's stage alone."""

from __future__ import annotations

import argparse
import asyncio
from functools import partial
from pathlib import Path

from rich.console import Console

from spadework.analysis.designs import outcomes
from spadework.cli.environments.model import add_model, model_config
from spadework.cli.faults import print_faults
from spadework.cli.runs.show import attempts_table
from spadework.cli.ticker import Ticker
from spadework.config import RunConfig
from spadework.errors import ConfigError, causes
from spadework.jobs.design import PoolBook, design_pool

POOL = "pool.parquet"
"""What a pool is called in a folder that is named for it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument("-n", type=int, required=True, metavar="N", help="slots to fill; a failed one stays empty")
    add_model(parser)
    parser.add_argument("--seed", type=int, metavar="S", help="seed of documents and sampling (run.seed)")
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="POOL",
        help=f"a folder, which gets {POOL}, or a .parquet file; one that holds fewer than N is gone on with",
    )
    parser.add_argument("--jobs", type=int, default=32, metavar="N", help="slots at a time")


def run(args: argparse.Namespace) -> int:
    """Run the verb: 1 when the pool holds fewer than N in the end."""
    seed = [] if args.seed is None else [f"run.seed={args.seed}"]
    config = model_config(args, *seed)
    if not config.designer.environments:
        raise ConfigError("designer.environments is 0: this config designs nothing")
    out = _pool_file(args.out)
    book = PoolBook(out, config)
    console = Console(highlight=False)
    if book.environments:
        console.print(f"{out} holds {len(book.environments)} environments already", soft_wrap=True)
    try:
        asyncio.run(_design(config, book, args, console))
    except KeyboardInterrupt:
        console.print("stopped; the same command goes on")
        return 130
    console.print(attempts_table(outcomes(book.attempts)))
    print_faults(console, causes(attempt.fault for attempt in book.attempts if attempt.fault is not None))
    console.print(f"{len(book.environments)} environments in {out}; rejections in {book.rejections}", soft_wrap=True)
    return int(len(book.environments) < args.n)


def _pool_file(out: Path) -> Path:
    """The file to write: ``out``, or one in the folder ``out``. Raises ``ConfigError`` for another kind of file."""
    if out.is_dir() or not out.suffix:
        return out / POOL
    if out.suffix != ".parquet":
        raise ConfigError(f"--out {out}: name a folder, or a file that ends in .parquet")
    return out


async def _design(config: RunConfig, book: PoolBook, args: argparse.Namespace, console: Console) -> None:
    """Fill the book, with a sign of life meanwhile."""

    def state() -> str:
        return (
            f"{len(book.attempts)} attempts in slots that are done, {len(book.environments)} of {args.n} environments"
        )

    async with Ticker(console, state):
        await design_pool(config, book, args.n, args.jobs, partial(console.print, soft_wrap=True, markup=False))
