"""``spadework train``: run self-play from a config, into a run directory that can be read, resumed and replayed."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import importlib.util
import json
import os
import signal
import time
from pathlib import Path

from rich.console import Console

from spadework import build
from spadework.cli.progress import Progress
from spadework.cli.summary import print_summary
from spadework.config import RunConfig, estimate
from spadework.config.differences import unlike_defaults
from spadework.config.files import dump_config, find_config, load_config, override_config
from spadework.config.toml import toml_text
from spadework.errors import ConfigError
from spadework.run import REQUEUE, train_run, until_stopped
from spadework.runs.allowance import AllowanceUsedUp
from spadework.runs.store import RunStore


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument(
        "config", nargs="?", help="a TOML file, or the name of a shipped config (default: what runs here at once)"
    )
    parser.add_argument("--run", type=Path, metavar="DIR", help="run directory (default: runs/CONFIG-DATE)")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="override a setting")
    parser.add_argument("--resume", action="store_true", help="go on with the run in --run, under its own settings")
    parser.add_argument(
        "--change-config",
        action="store_true",
        help="with --resume: take over changed settings that change what the run does",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="print the settings and what a run of them will cost, and stop"
    )
    parser.add_argument("--json", action="store_true", help="with --dry-run: print every setting, as JSON")


def run(args: argparse.Namespace) -> int:
    """Run the verb; under torchrun on rank 0 alone, whom the others follow."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or args.dry_run:
        return _run(args)
    from spadework.policies.local.distributed import joined_ranks
    from spadework.policies.local.training.worker import run_worker

    with joined_ranks() as ranks:
        if ranks.rank == 0:
            return _run(args)
        run_worker(ranks)
    return 0


def _run(args: argparse.Namespace) -> int:
    if args.resume and args.run is None:
        raise ConfigError("--resume needs --run DIR: the run to go on with")
    if args.json and not args.dry_run:
        raise ConfigError("--json goes with --dry-run")
    if args.dry_run:
        return _dry_run(_wanted_config(args), args.json)
    config = _wanted_config(args)
    console = Console()
    if args.config is None and not args.resume:
        console.print(_why_default(default_config()), highlight=False, markup=False, soft_wrap=True)
    store = _resumed(args, config, console) if args.resume else RunStore.create(_run_dir(args), config)
    try:
        return _train(config, store, console)
    finally:
        store.close()


def _wanted_config(args: argparse.Namespace) -> RunConfig:
    """The config that is named; without a name that of the run to go on with. ``--set`` changes either."""
    if args.resume and args.config is None:
        config, where = override_config(_stored_config(args.run), args.set, str(args.run)), str(args.run)
    else:
        name = args.config or default_config()
        config, where = load_config(name, args.set), str(find_config(name))
    build.check_trains(config)
    build.check_parts(config, where)
    return config


def default_config() -> str:
    """The shipped config that runs without a download: the scale model where torch is installed, else the script."""
    has_engine = all(importlib.util.find_spec(name) for name in ("torch", "transformers", "safetensors"))
    return "scale" if has_engine else "scripted"


def _why_default(name: str) -> str:
    """The first line of a run whose config the user did not name."""
    chosen = {
        "scale": "scale, a model of a million parameters that ships with the package: some minutes on two cores",
        "scripted": "scripted, a script in the place of a model: some seconds; pip install 'spadework[local]' brings "
        "the engine that trains models",
    }
    return (
        f"You named no config, so this runs {chosen[name]}. `spadework configs list` shows the others; "
        "`spadework train NAME` runs one."
    )


def _stored_config(run_dir: Path) -> RunConfig:
    store = RunStore.read(run_dir)
    try:
        return store.config
    finally:
        store.close()


def _run_dir(args: argparse.Namespace) -> Path:
    """The folder of a new run."""
    if args.run is not None:
        return Path(args.run)
    return Path("runs") / f"{Path(args.config or default_config()).stem}-{time.strftime('%Y%m%d-%H%M%S')}"


def _resumed(args: argparse.Namespace, config: RunConfig, console: Console) -> RunStore:
    """The run to go on with, which has taken ``config`` over."""
    store = RunStore.resume(args.run)
    for change in store.adopt_config(config, change=args.change_config, how="add --change-config"):
        console.print(f"setting changed: {change}", highlight=False, markup=False, soft_wrap=True)
    return store


def _dry_run(config: RunConfig, as_json: bool) -> int:
    """Print what differs from the defaults as TOML that ``train`` takes, with all else in comments."""
    if as_json:
        cost = dataclasses.asdict(estimate.estimate(config))
        print(json.dumps({"config": dump_config(config), "estimate": cost}, indent=2))
        return 0
    print("# Settings that differ from the defaults; --json prints all of them.")
    print(toml_text(unlike_defaults(config)))
    corpus = build.build_corpus(config)
    if corpus is not None:
        broken = f", {corpus.broken} broken lines left out" if corpus.broken else ""
        print(f"# corpus: {len(corpus)} documents in {corpus.path}{broken}")
    for line in estimate.lines(config):
        print(f"# {line}")
    return 0


def _train(config: RunConfig, store: RunStore, console: Console) -> int:
    for line in store.notes:
        console.print(line)
    console.print(f"run: {store.path}", highlight=False, soft_wrap=True)
    again = f"spadework train --resume --run '{store.path}'"
    try:
        with Progress(console, config.run.cycles) as progress:
            stopped = asyncio.run(until_stopped(train_run(config, store, progress)))
    except AllowanceUsedUp as limit:
        change = "" if limit.again else " --set with a higher limit"
        console.print(f"stopped by {limit}; go on with: {again}{change}", soft_wrap=True, markup=False, highlight=False)
        return REQUEUE if limit.again else 0
    if stopped:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is written: a second Ctrl-C could only add a traceback
        console.print(f"stopped; go on with: {again}", soft_wrap=True, markup=False, highlight=False)
        return stopped
    print_summary(store, console)
    console.print(f"run: {store.path}", highlight=False, soft_wrap=True)
    return 0
