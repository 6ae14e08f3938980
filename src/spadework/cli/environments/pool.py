"""``spadework pool``: take over pools that others wrote, and say what a pool holds."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from spadework.analysis.programs import means, measure_program
from spadework.cli.environments.model import add_model, model_config
from spadework.envs.check.program import in_order
from spadework.envs.check.syntax import Program, parse
from spadework.envs.contract import box
from spadework.envs.sandbox.base import Limits, Sandbox, Session
from spadework.envs.sandbox.packaged.names import parse_named
from spadework.errors import ConfigError, ProgramError
from spadework.jobs.engine import open_policy
from spadework.jobs.judge import Judged, judge_pool, shares
from spadework.selfplay.pool.files import Imported, import_pool, write_pool
from spadework.types import WIN, Environment

_SHOWN = 20
"""Failures and duplicates listed one by one; the rest is counted."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    taking = actions.add_parser("import", help="read a pool, check it, and write it in our format")
    taking.add_argument("path", type=Path, metavar="PATH", help="Parquet, a folder of programs, or a run")
    taking.add_argument("--out", type=Path, metavar="FILE", help="default: pools/NAME.parquet")
    taking.add_argument("--no-run", action="store_true", help="do not load and reset every program")
    stats = actions.add_parser("stats", help="count what a pool holds")
    stats.add_argument("path", type=Path, metavar="PATH", help="a pool in any format, or of a package: rlve:400")
    stats.add_argument("--judge", action="store_true", help="ask a model which are well-posed and verifiable")
    stats.add_argument("--max-tokens", type=int, default=4_096, metavar="N", help="of a judge's reply")
    add_model(stats)
    for action in (taking, stats):
        action.add_argument(
            "--jobs", type=int, default=2 * (os.cpu_count() or 1), metavar="N", help="programs at a time"
        )


def run(args: argparse.Namespace) -> int:
    """Run the verb: 1 when an import left rows out because they fail."""
    if args.action == "stats" and (args.endpoint or args.model) and not args.judge:
        raise ConfigError("--endpoint and --model name the judge: add --judge")
    imported = import_pool(args.path)
    console = Console()
    if args.action == "stats":
        console.print(_stats(imported.environments))
        if args.judge:
            _print_judged(console, asyncio.run(_judge(args, imported.environments, console)))
        if parse_named(str(args.path)) is not None:
            _print_playable(console, imported, asyncio.run(_load_all(imported.environments, args.jobs)))
            return 0
        console.print(f"{len(imported.duplicates)} duplicates and {len(imported.failures)} broken rows left out")
        return 0
    broken = [] if args.no_run else asyncio.run(_load_all(imported.environments, args.jobs))
    failed = {name for name, _ in broken}
    kept = [environment for environment in imported.environments if environment.id not in failed]
    out = args.out or Path("pools") / f"{args.path.resolve().stem}.parquet"
    write_pool(out, kept)
    failures = [*imported.failures, *broken]
    _print_left_out(console, imported, failures)
    console.print(f"{len(kept)} environments in {out}; {len(imported.duplicates)} duplicates, {len(failures)} failures")
    return int(bool(failures))


async def _judge(args: argparse.Namespace, environments: Sequence[Environment], console: Console) -> list[Judged]:
    note = partial(console.print, soft_wrap=True, markup=False)
    async with open_policy(model_config(args), note) as (policy, _):
        return await judge_pool(policy, environments, args.jobs, args.max_tokens)


def _print_judged(console: Console, judged: Sequence[Judged]) -> None:
    for question, share in shares(judged).items():
        told = f"{share.mean:.0%} ({share.low:.0%} to {share.high:.0%})" if share.n else "unknown"
        console.print(f"{question.replace('_', '-')}, as judged: {told} of {share.n}", highlight=False)
    failures = Counter(one.failure for one in judged if one.verdict is None)
    for failure, count in failures.most_common(_SHOWN):
        console.print(f"{count} without a verdict: {failure}", markup=False, soft_wrap=True)


async def _load_all(environments: Sequence[Environment], jobs: int) -> list[tuple[str, str]]:
    """Id and reason of every program that cannot be built and reset."""
    from spadework.build import build_sandbox
    from spadework.config import RunConfig

    sandbox = build_sandbox(RunConfig())
    failures = []
    try:
        async for environment, problem in in_order(environments, lambda one: _problem(sandbox, one), jobs):
            if isinstance(problem, Exception):
                raise problem
            if problem:
                failures.append((environment.id, problem))
    finally:
        await sandbox.close()
    return failures


async def _problem(sandbox: Sandbox, environment: Environment) -> str:
    try:
        session = await sandbox.open(environment.source, Limits())
    except ProgramError as error:
        return str(error)
    try:
        await session.reset(0)
        return await _own_answer(session) if parse_named(environment.source) is not None else ""
    except ProgramError as error:
        return str(error)
    finally:
        await session.close()


async def _own_answer(session: Session) -> str:
    """Whether a package's own answer wins, where it knows one."""
    answer = await session.call("solution")
    if answer is None or (await session.step(box(answer))).reward >= WIN:
        return ""
    return f"its own answer {answer[:40]!r} does not win"


def _print_playable(console: Console, imported: Imported, failures: Sequence[tuple[str, str]]) -> None:
    _print_left_out(console, imported, failures)
    playable = len(imported.environments) - len(failures)
    console.print(f"{playable} of {len(imported.environments)} environments give a problem, and pay their own answer")


def _print_left_out(console: Console, imported: Imported, failures: Sequence[tuple[str, str]]) -> None:
    table = Table("program", "why it is left out", box=None, pad_edge=False)
    repeats = [(name, f"repeats {first}") for name, first in imported.duplicates]
    for rows in (failures, repeats):
        for name, why in rows[:_SHOWN]:
            table.add_row(name, why)
        if len(rows) > _SHOWN:
            table.add_row("", f"and {len(rows) - _SHOWN} more")
    if table.row_count:
        console.print(table)


def _stats(environments: Sequence[Environment]) -> Table:
    table = Table("what", "count", "share", box=None, pad_edge=False)
    table.add_row("environments", str(len(environments)), "")
    groups: list[tuple[str, Iterable[str]]] = [
        ("domain", (one.domain for one in environments)),
        ("skill", (one.skill or "(none)" for one in environments)),
        ("has", (trait for one in environments for trait in _traits(one.source))),
    ]
    for label, values in groups:
        for value, count in sorted(Counter(values).items(), key=lambda pair: (-pair[1], pair[0])):
            table.add_row(f"{label}: {value}", str(count), f"{count / max(1, len(environments)):.0%}")
    lengths = sorted(one.source.count("\n") + 1 for one in environments) or [0]
    for label, at in (("shortest", 0), ("median", len(lengths) // 2), ("longest", -1)):
        table.add_row(f"lines: {label}", str(lengths[at]), "")
    measured = [found for one in environments if (found := measure_program(one.source)) is not None]
    for label, mean in means(measured).items():
        table.add_row(f"mean: {label}", f"{mean:.1f}", "")
    return table


def _traits(source: str) -> list[str]:
    try:
        program = Program(parse(source))
    except SyntaxError:
        return ["a syntax error"]
    tools = len(program.tools())
    traits = {
        "an environment class": program.env is not None,
        "a solution()": "solution" in program.methods,
        "math_verify": "math_verify" in source,
        "numpy": "numpy" in source or "np." in source,
        "1 to 4 tools": 1 <= tools <= 4,
        "5 tools or more": tools >= 5,
    }
    return [name for name, holds in traits.items() if holds]
