"""``spadework export``: a run's episodes, environments or training rows in one file."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

from spadework.errors import ConfigError
from spadework.runs.export import SUFFIXES, export_files, write_jsonl
from spadework.runs.records import read_environments
from spadework.runs.store import RunStore
from spadework.runs.tables import EPISODES, SEQUENCES
from spadework.selfplay.pool_files import write_pool


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument("run", type=Path, metavar="RUN", help="run directory")
    parser.add_argument("--what", required=True, choices=("episodes", "environments", "sequences"))
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help=".jsonl or .parquet; for environments also a folder"
    )


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    if args.out.suffix not in SUFFIXES and not (args.what == "environments" and not args.out.suffix):
        raise ConfigError(f"--out {args.out}: {args.what} go into a file that ends in {' or '.join(SUFFIXES)}")
    store = RunStore.read(args.run)
    try:
        count = _export(store, args.what, args.out)
    finally:
        store.close()
    print(f"{count} {args.what} in {args.out}")
    return 0


def _export(store: RunStore, what: str, out: Path) -> int:
    if what == "episodes":
        return export_files(store.episode_files(), EPISODES, out)
    if what == "sequences":
        return export_files(store.sequence_files(), SEQUENCES, out)
    environments = list({environment.id: environment for environment in read_environments(store)}.values())
    if out.suffix == ".jsonl":
        return write_jsonl(out, ({**dataclasses.asdict(one), "sha256": one.sha256} for one in environments))
    write_pool(out if out.suffix else out / "environments.parquet", environments)
    return len(environments)
