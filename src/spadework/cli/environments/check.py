"""``spadework check``: find the faults of environment programs, as a linter does, and by playing them."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import os
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spadework.cli.environments import findings as output
from spadework.cli.environments.watching import watch
from spadework.envs.check.findings import fatal
from spadework.envs.check.program import Checked, check_program, in_order
from spadework.envs.check.runtime import RuntimeChecks
from spadework.envs.registry import find_domain
from spadework.envs.sandbox.base import Sandbox
from spadework.envs.sandbox.packaged.names import parse_named
from spadework.errors import ConfigError, SandboxError
from spadework.selfplay.pool.files import GAMES_FOLDER, PoolEntry, read_pool
from spadework.text import printable
from spadework.types import Environment

_WHOLE = ("run.sqlite", "manifest.json", "manifest.jsonl")
"""Files that make a folder one pool."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="programs, folders of them, or pools")
    parser.add_argument("--explain", metavar="CODE", help="print what a code or a family (ENV5) means, and stop")
    parser.add_argument(
        "--domain",
        default="auto",
        metavar="NAME",
        help="check as programs of this domain (default: read off each program)",
    )
    parser.add_argument("--static", action="store_true", help="read the programs only, run nothing")
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="seeds that each program is played with")
    parser.add_argument(
        "--fatal", default="", metavar="CODES", help="reject on these codes or families too (ENV6,ENV104)"
    )
    parser.add_argument("--ignore", default="", metavar="CODES", help="never reject on these, and do not show them")
    parser.add_argument("--info", action="store_true", help="show findings of severity info too")
    parser.add_argument("--statistics", action="store_true", help="print figures of each program's plays")
    parser.add_argument("--policy", metavar="MODEL", help="let a model play what has no error too: win rates by level")
    parser.add_argument("--plays", type=int, default=8, metavar="N", help="with --policy: episodes a program and level")
    parser.add_argument(
        "--endpoint", action="append", default=[], metavar="URL", help="with --policy: where it is served"
    )
    parser.add_argument("--config", metavar="NAME", help="with --policy: a TOML file or shipped config")
    parser.add_argument(
        "--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="with --policy: a setting"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object a program")
    parser.add_argument("--sarif", action="store_true", help="print one SARIF log")
    parser.add_argument("--watch", action="store_true", help="check again whatever changes, until Ctrl-C")
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 1), metavar="N", help="programs at a time")


@dataclass(frozen=True, slots=True)
class _Rules:
    """Which codes reject and which are silent; flags add to ``[tool.spadework.check]`` of pyproject.toml."""

    fatal: frozenset[str] = frozenset()
    ignore: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Tally:
    """What is kept of the programs already printed: a pool may hold many thousands."""

    keep: bool
    programs: list[tuple[Checked, bool]] = field(default_factory=list)
    reports: list[output.Report] = field(default_factory=list)
    broken: int = 0
    sound: list[tuple[str, Environment]] = field(default_factory=list)
    """What may be played by a model, where one is named."""


def run(args: argparse.Namespace) -> int:
    """Run the verb: 0 when nothing is rejected, 1 when something is, 2 when something could not be checked."""
    if args.explain:
        print(output.explain(args.explain))
        return 0
    if not args.paths:
        raise ConfigError("name a program, a folder or a pool, or give --explain CODE")
    if args.policy is not None and (args.sarif or args.static):
        raise ConfigError("--policy plays the programs: it goes with neither --sarif nor --static")
    if args.watch:
        return watch(args.paths, lambda changed: _run(args, changed))
    return _run(args, args.paths)


def _run(args: argparse.Namespace, paths: list[Path]) -> int:
    """Check the programs of ``paths`` and print what is found."""
    rules = _rules(args)
    started = time.monotonic()
    tally = asyncio.run(_check(args, paths, rules))
    if args.sarif:
        print(output.sarif(tally.reports))
    elif args.statistics and not args.json:
        from rich.console import Console

        Console().print(output.statistics_table(tally.reports))
    if args.policy is not None:
        _let_play(args, tally)
    if not (args.json or args.sarif):
        print(output.summary(tally.programs, time.monotonic() - started), file=sys.stderr)
    if tally.broken:
        return 2
    return int(any(rejected for _, rejected in tally.programs))


def _let_play(args: argparse.Namespace, tally: _Tally) -> None:
    """Print how often the model wins the programs in which no error was found."""
    from rich.console import Console

    from spadework.cli.environments import winning

    found = winning.measure(args, tally.sound, Console(stderr=args.json, highlight=False))
    if args.json:
        for one in found:
            print(winning.record(one), flush=True)
    elif found:
        Console(highlight=False).print(winning.table(found))


def _rules(args: argparse.Namespace) -> _Rules:
    path = Path("pyproject.toml")
    try:
        data = tomllib.loads(path.read_text("utf-8")) if path.exists() else {}
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None
    table: dict[str, Any] = data.get("tool", {}).get("spadework", {}).get("check", {})
    chosen = {}
    for name in ("fatal", "ignore"):
        given = [word.strip().upper() for word in getattr(args, name).split(",") if word.strip()]
        chosen[name] = frozenset([*given, *table.get(name, [])])
    return _Rules(**chosen)


def _entries(paths: list[Path]) -> Iterator[tuple[str, PoolEntry]]:
    for path in paths:
        if parse_named(str(path)) is not None:
            raise ConfigError(f"{path}: a package's environments are no programs; try `spadework pool stats {path}`")
        if not path.exists():
            raise ConfigError(f"{path}: there is no such file or folder")
        for pool in _pools(path):
            for entry in read_pool(pool):
                yield (str(pool) if pool.suffix == ".py" else f"{pool / entry.name}"), entry


def _pools(path: Path) -> list[Path]:
    """A path itself; for a plain folder every folder at or below it that holds programs or Parquet."""
    if not path.is_dir() or any((path / name).is_file() for name in _WHOLE):
        return [path]
    files = [file for ending in ("*.py", "*.parquet") for file in path.rglob(ending)]
    folders = {file.parent for file in files if not any(part.startswith(".") for part in file.relative_to(path).parts)}
    # A folder called games belongs to the pool above it, which is read with it.
    own = [folder for folder in folders if not (folder.name == GAMES_FOLDER and folder.parent in folders)]
    return sorted(own) or [path]


async def _check(args: argparse.Namespace, paths: list[Path], rules: _Rules) -> _Tally:
    settings = RuntimeChecks(seeds=args.seeds)
    domain = None if args.domain == "auto" else find_domain(args.domain)
    tally = _Tally(keep=args.sarif or args.statistics)
    async with AsyncExitStack() as stack:
        sandbox = None if args.static else _sandbox()
        if sandbox is not None:
            stack.push_async_callback(sandbox.close)

        async def work(item: tuple[str, PoolEntry]) -> Checked:
            environment = item[1].environment
            return await check_program(sandbox, environment.source, settings, domain, environment.hint)

        async for (path, entry), checked in in_order(_entries(paths), work, args.jobs):
            _one(args, rules, tally, path, entry, checked)
    return tally


def _one(
    args: argparse.Namespace, rules: _Rules, tally: _Tally, path: str, entry: PoolEntry, checked: Checked | Exception
) -> None:
    if isinstance(checked, Exception) and not isinstance(checked, SandboxError):
        raise checked
    if isinstance(checked, Exception) or entry.problem:
        print(printable(f"{path}: not checked: {entry.problem or checked}"), file=sys.stderr)
        tally.broken += 1
        return
    kept = tuple(one for one in checked.findings if not one.code.startswith(tuple(rules.ignore)))
    checked = Checked(kept, checked.domain, checked.statistics)
    report = output.Report(path, checked, fatal(kept, rules.fatal))
    tally.programs.append((Checked(kept, checked.domain), bool(report.fatal)))
    if args.policy is not None and not report.fatal:
        tally.sound.append((path, dataclasses.replace(entry.environment, domain=checked.domain)))
    if tally.keep:
        tally.reports.append(report)
    if args.json:
        print(json.dumps(output.record(report)), flush=True)
    elif not args.sarif:
        for line in output.lines(report, args.info):
            print(line, flush=True)


def _sandbox() -> Sandbox:
    from spadework.build import build_sandbox
    from spadework.config import RunConfig

    return build_sandbox(RunConfig())
