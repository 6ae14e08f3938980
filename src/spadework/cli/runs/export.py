"""``spadework export``: a run's episodes, environments or training rows in one file, or the model that it trained."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
from pathlib import Path

from spadework import build
from spadework.errors import ConfigError
from spadework.jobs.checkpoint import WHICH, find_checkpoint
from spadework.runs.export import SUFFIXES, export_files, write_jsonl
from spadework.runs.reading import read_environments
from spadework.runs.store import RunStore
from spadework.runs.tables import EPISODES, SEQUENCES
from spadework.selfplay.pool.files import load_pool, write_pool
from spadework.selfplay.pool.folder import write_folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument("run", type=Path, metavar="RUN", help="run directory; with --to also a pool")
    parser.add_argument("--what", choices=("episodes", "environments", "sequences", "model"))
    parser.add_argument("--to", choices=("verifiers",), help="write the environments as a package of this framework")
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="FILE",
        help=".jsonl or .parquet; for environments also a new folder of programs; for the model a new folder",
    )
    parser.add_argument("--checkpoint", default="last", metavar="WHICH", help=f"for the model, {WHICH}")


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    if (args.what is None) == (args.to is None):
        raise ConfigError("export takes one of --what (data of a run) and --to (environments for another framework)")
    if args.to is not None:
        return _package(args.run, args.to, args.out)
    if args.what == "model":
        return _model(args.run, args.checkpoint, args.out)
    if args.out.suffix not in SUFFIXES and not (args.what == "environments" and not args.out.suffix):
        raise ConfigError(f"--out {args.out}: {args.what} go into a file that ends in {' or '.join(SUFFIXES)}")
    store = RunStore.read(args.run)
    try:
        count = _export(store, args.what, args.out)
    finally:
        store.close()
    print(f"{count} {args.what} in {args.out}")
    return 0


def _package(pool: Path, framework: str, out: Path) -> int:
    from spadework.interop.packages import PACKAGES

    environments = load_pool(pool)
    PACKAGES[framework](out, environments)
    print(f"{len(environments)} environments in {out}, a package for {framework}; install it with pip install {out}")
    return 0


def _export(store: RunStore, what: str, out: Path) -> int:
    if what == "episodes":
        return export_files(store.episode_files(), EPISODES, out)
    if what == "sequences":
        return export_files(store.sequence_files(), SEQUENCES, out)
    environments = list({environment.id: environment for environment in read_environments(store)}.values())
    if out.suffix == ".jsonl":
        return write_jsonl(out, ({**dataclasses.asdict(one), "sha256": one.sha256} for one in environments))
    if not out.suffix:
        return write_folder(out, environments)
    write_pool(out, environments)
    return len(environments)


def _model(run: Path, which: str, out: Path) -> int:
    """The weights of a checkpoint in the form that ``model.name`` and other software opens."""
    if out.exists():
        raise ConfigError(f"--out {out}: exists already; name a folder that does not")
    found = find_checkpoint(run, which)
    if found.folder is None:
        raise ConfigError(
            f"--checkpoint start: nothing was trained yet; the run began with {found.config.model.name!r}"
        )
    engine = build.build_engine(found.config)
    try:
        engine.trainer.load(found.folder)
        out.parent.mkdir(parents=True, exist_ok=True)
        engine.trainer.export(out)
    finally:
        asyncio.run(engine.policy.close())
    print(f"the model after cycle {found.cycle + 1} in {out}")
    return 0
