"""``spadework train``: run self-play from a config, into a run directory that can be read, resumed and replayed."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import time
from pathlib import Path

from rich.console import Console

from spadework import build
from spadework.cli.progress import Progress
from spadework.cli.summary import print_summary
from spadework.config import RunConfig, estimate
from spadework.config.files import dump_config, load_config
from spadework.domains.settings import settle
from spadework.errors import ConfigError
from spadework.run import train_run, until_stopped
from spadework.runs.store import RunStore


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument("config", nargs="?", help="a TOML file, or the name of a shipped config (default: laptop)")
    parser.add_argument("--run", type=Path, metavar="DIR", help="run directory (default: runs/CONFIG-DATE)")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="override a setting")
    parser.add_argument("--resume", action="store_true", help="go on with the run in --run")
    parser.add_argument("--change-config", action="store_true", help="with --resume: take changed settings over")
    parser.add_argument(
        "--dry-run", action="store_true", help="print the resolved config and what it will cost, and stop"
    )


def run(args: argparse.Namespace) -> int:
    """Run the verb; under torchrun on rank 0 alone, whom the others follow."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or args.dry_run:
        return _run(args)
    from spadework.policies.local.distributed import joined_ranks
    from spadework.policies.local.worker import follow

    with joined_ranks() as ranks:
        if ranks.rank == 0:
            return _run(args)
        follow(ranks)
    return 0


def _run(args: argparse.Namespace) -> int:
    if args.resume and args.run is None:
        raise ConfigError("--resume needs --run DIR: the run to go on with")
    saved = args.resume and args.config is None and not args.set
    name = args.config or "laptop"
    given = None if saved else settle(load_config(name, args.set), name)
    if given is not None:
        build.check_trains(given)
    if args.dry_run:
        return _dry_run(given or _saved_config(args.run))
    run_dir = args.run or Path("runs") / f"{Path(args.config or 'laptop').stem}-{time.strftime('%Y%m%d-%H%M%S')}"
    console = Console()
    if args.resume:
        store = RunStore.resume(run_dir)
        config = given or store.config
        for line in store.adopt_config(config, change=args.change_config, how="add --change-config"):
            print(f"setting changed: {line}")
    else:
        assert given is not None
        store, config = RunStore.create(run_dir, given), given
    try:
        return _train(config, store, console)
    finally:
        store.close()


def _saved_config(run_dir: Path) -> RunConfig:
    store = RunStore.read(run_dir)
    try:
        return store.config
    finally:
        store.close()


def _dry_run(config: RunConfig) -> int:
    print(json.dumps(dump_config(config), indent=2))
    corpus = build.build_corpus(config)
    if corpus is not None:
        broken = f", {corpus.broken} broken lines left out" if corpus.broken else ""
        print(f"corpus: {len(corpus)} documents in {corpus.path}{broken}")
    print("\n".join(estimate.lines(config)))
    return 0


def _train(config: RunConfig, store: RunStore, console: Console) -> int:
    for line in store.notes:
        console.print(line)
    console.print(f"run: {store.path}", highlight=False, soft_wrap=True)
    with Progress(console, config.run.cycles) as progress:
        stopped = asyncio.run(until_stopped(train_run(config, store, progress)))
    if stopped:
        again = f"spadework train --resume --run '{store.path}'"
        console.print(f"stopped; go on with: {again}", soft_wrap=True, markup=False, highlight=False)
        return 130
    print_summary(store, console)
    console.print(f"run: {store.path}", highlight=False, soft_wrap=True)
    return 0
