"""``spadework design``: write a pool of environments offline, with the designer's stage alone."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from spadework import build
from spadework.analysis.designs import outcome, outcomes
from spadework.cli.engine import open_policy
from spadework.cli.runs import attempts_table
from spadework.config import RunConfig
from spadework.config_files import load_config
from spadework.errors import ConfigError
from spadework.selfplay.designer import SlotResult
from spadework.selfplay.offline import design_slots, slot_number
from spadework.selfplay.pool_files import import_pool, write_pool
from spadework.types import Design, Environment

_SAVE_EVERY = 16
"""Slots between two writes of the pool."""


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
    book = _Book(args.out, config)
    console = Console(highlight=False)
    if book.environments:
        console.print(f"{args.out} holds {len(book.environments)} environments already", soft_wrap=True)
    try:
        asyncio.run(_design(config, book, args, console))
    except KeyboardInterrupt:
        console.print("stopped; the same command goes on")
        return 130
    console.print(attempts_table(outcomes(book.attempts)))
    console.print(
        f"{len(book.environments)} environments in {args.out}; rejections in {book.rejections}", soft_wrap=True
    )
    return int(len(book.environments) < args.n)


class _Book:
    """The pool and the rejections beside it, on disk and in memory."""

    def __init__(self, pool: Path, config: RunConfig) -> None:
        self.pool, self.rejections = pool, pool.with_suffix(".rejected.jsonl")
        self.environments: list[Environment] = list(import_pool(pool).environments) if pool.exists() else []
        self.attempts: list[Design] = []
        self._unsaved: list[str] = []
        tried = _rejected_ids(self.rejections)
        tried += [environment.design_id for environment in self.environments if environment.design_id]
        self.next_slot = 1 + max((slot_number(config.designer, name) for name in tried), default=-1)

    def add(self, result: SlotResult) -> None:
        """Take in one slot."""
        self.attempts += result.designs
        if result.environment is not None:
            self.environments.append(result.environment)
        self._unsaved += [json.dumps(_rejection(design)) for design in result.designs if not design.accepted]

    def save(self) -> None:
        """Bring both files up to date."""
        write_pool(self.pool, self.environments)
        with self.rejections.open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in self._unsaved)
        self._unsaved.clear()


async def _design(config: RunConfig, book: _Book, args: argparse.Namespace, console: Console) -> None:
    missing = args.n - len(book.environments)
    numbers: Sequence[int] = range(book.next_slot, book.next_slot + missing)
    if not numbers:
        return
    corpus = build.build_corpus(config)
    async with open_policy(config, console.print, designs=True) as (policy, sandbox):
        stages = build.build_stages(config, sandbox, corpus)
        assert stages.designer is not None
        for environment in book.environments:
            stages.seen.add(environment.source)
        seen = stages.seen if config.validation.refuse_copies else None
        try:
            async for number, result in design_slots(stages.designer, policy, numbers, args.jobs, seen):
                book.add(result)
                told = ", ".join(outcome(design) for design in result.designs)
                console.print(f"slot {number}: {result.designs[-1].skill}: {told}", soft_wrap=True, markup=False)
                if (number + 1) % _SAVE_EVERY == 0:
                    book.save()
        finally:
            book.save()


def _rejected_ids(path: Path) -> list[str]:
    """Raises ``ConfigError`` for a line that is no rejection: a write was torn, or the file is something else."""
    try:
        return [str(json.loads(line)["id"]) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: holds a line that is no rejection ({error}); mend it, or move it away") from None


def _rejection(design: Design) -> dict[str, object]:
    told = {key: getattr(design, key) for key in ("id", "skill", "document_id", "findings", "source", "reply")}
    return {**told, "outcome": outcome(design), "fault": None if design.fault is None else design.fault.message}
