"""``spadework pool``: take over pools that others wrote, and say what a pool holds."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from spadework.analysis.programs import means, measure_program
from spadework.cli.environments.model import add_model, model_config
from spadework.envs.check.findings import fatal
from spadework.envs.check.program import check_program, in_order
from spadework.envs.check.runtime import RuntimeChecks
from spadework.envs.check.static.source import check_source
from spadework.envs.check.syntax import Program
from spadework.envs.contract import box
from spadework.envs.json_schema import SchemaError, check_schema
from spadework.envs.registry import find_domain
from spadework.envs.sandbox.base import Limits, Sandbox, Session, act
from spadework.envs.sandbox.packaged.names import parse_named
from spadework.envs.tool_calls import render_call
from spadework.errors import ConfigError, ProgramError
from spadework.jobs.engine import open_policy
from spadework.jobs.judge import Judged, judge_pool, shares
from spadework.selfplay.pool.files import Imported, import_pool, write_pool
from spadework.text import parse_python
from spadework.types import WIN, Environment

_DONE = {
    "no_run": "sources looked at, nothing run",
    "quick": "loaded and reset, not played or checked",
    "play": "an episode played, not checked",
}
"""Choice of fewer checks -> what was done then."""
_SHOWN = 20
"""Failures and duplicates listed one by one; the rest is counted."""
_PLAYED_TURNS = 50
"""Turns that a program's own solution may take."""

Try = Callable[[Sandbox, Environment], Awaitable[str]]
"""Looks for a problem of a program; empty text where there is none."""
Use = Callable[[Session, Environment], Awaitable[str]]
"""The same, with a session of the program."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    taking = actions.add_parser("import", help="read a pool, check it, and write it in our format")
    taking.add_argument("path", type=Path, metavar="PATH", help="Parquet, a folder of programs, or a run")
    taking.add_argument("--out", type=Path, metavar="FILE", help="default: pools/NAME.parquet")
    how = taking.add_mutually_exclusive_group()
    how.add_argument("--no-run", action="store_true", help="only look at the sources: run no program")
    how.add_argument("--quick", action="store_true", help="only load and reset every program")
    how.add_argument("--play", action="store_true", help="only play an episode of every program")
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
            _print_playable(console, imported, asyncio.run(_load_all(imported, args.jobs, _problem)))
            return 0
        console.print(f"{len(imported.duplicates)} duplicates and {len(imported.failures)} broken rows left out")
        return 0
    broken = asyncio.run(_load_all(imported, args.jobs, _tries(args)))
    failed = {name for name, _ in broken}
    kept = [one for one in imported.environments if imported.names[one.sha256] not in failed]
    out = args.out or Path("pools") / f"{args.path.resolve().stem}.parquet"
    write_pool(out, kept)
    failures = [*imported.failures, *broken]
    _print_left_out(console, imported, failures)
    how = next((said for name, said in _DONE.items() if getattr(args, name)), "checked as `spadework check` does")
    console.print(
        f"{len(kept)} environments in {out} ({how}); {len(imported.duplicates)} duplicates, {len(failures)} failures"
    )
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


def _tries(args: argparse.Namespace) -> Try:
    if args.no_run:
        return _static_problem
    if args.quick:
        return _problem
    return _playing_problem if args.play else _checked_problem


async def _load_all(imported: Imported, jobs: int, tries: Try) -> list[tuple[str, str]]:
    """File and reason of every program that ``tries`` finds a problem of."""
    from spadework.build import build_sandbox
    from spadework.config import RunConfig

    sandbox = build_sandbox(RunConfig())
    failures = []
    try:
        async for environment, problem in in_order(imported.environments, lambda one: tries(sandbox, one), jobs):
            if isinstance(problem, Exception):
                raise problem
            if problem:
                failures.append((imported.names[environment.sha256], problem))
    finally:
        await sandbox.close()
    return failures


async def _static_problem(_: Sandbox, environment: Environment) -> str:
    """The first error of the source that keeps it from being an environment, without running it."""
    if parse_named(environment.source) is not None:
        return ""
    domain = find_domain(environment.domain)
    findings = await asyncio.to_thread(lambda: fatal(list(check_source(environment.source, domain))))
    unfit = [finding for finding in findings if finding.code.startswith(("ENV0", "ENV1"))]
    return f"{unfit[0].code} {unfit[0].message}" if unfit else ""


async def _checked_problem(sandbox: Sandbox, environment: Environment) -> str:
    """The first error that ``spadework check`` and a training run find, and how many more there are."""
    if parse_named(environment.source) is not None:
        return await _problem(sandbox, environment)
    domain = find_domain(environment.domain)
    checked = await check_program(sandbox, environment.source, RuntimeChecks(), domain, environment.hint)
    errors = fatal(checked.findings)
    if not errors:
        return ""
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{errors[0].code} {errors[0].message}{more}"


async def _problem(sandbox: Sandbox, environment: Environment) -> str:
    """Why the program cannot be built and reset, if it cannot."""
    return await _problem_of(sandbox, environment, _opened)


async def _playing_problem(sandbox: Sandbox, environment: Environment) -> str:
    """Why an episode of the program cannot be played, if it cannot."""
    return await _problem_of(sandbox, environment, _played)


async def _problem_of(sandbox: Sandbox, environment: Environment, used: Use) -> str:
    problem = await _static_problem(sandbox, environment)
    if problem:
        return problem
    try:
        session = await sandbox.open(environment.source, Limits())
    except ProgramError as error:
        return str(error)
    try:
        return await used(session, environment)
    except ProgramError as error:
        return str(error)
    finally:
        await session.close()


async def _opened(session: Session, environment: Environment) -> str:
    await session.reset(0)
    if parse_named(environment.source) is not None:
        return await _own_answer(session)
    return _unfit_schema(session)


async def _played(session: Session, environment: Environment) -> str:
    """Play what ``solution()`` says, which must win; without a solution, try every tool and a wrong answer."""
    problem = await _opened(session, environment)
    if problem or parse_named(environment.source) is not None:
        return problem
    for _ in range(_PLAYED_TURNS):
        answer = await session.call("solution")
        if answer is None:
            return await _tried(session, environment)
        step = await act(session, find_domain(environment.domain).dialogue.encode(str(answer)))
        if step.done:
            return "" if step.terminated and step.reward >= WIN else "its own solution() does not win"
    return f"its own solution() does not end within {_PLAYED_TURNS} turns"


async def _tried(session: Session, environment: Environment) -> str:
    """Say something of each kind to a program that has no oracle; a fault of the program raises ``ProgramError``."""
    names = [tool.get("function", tool).get("name") for tool in session.tools]
    said = [render_call(str(name), {}) for name in names]
    for action in [*said, find_domain(environment.domain).dialogue.encode("0")]:
        if (await act(session, action)).done:
            break
    return ""


def _unfit_schema(session: Session) -> str:
    """What is wrong with the first tool's schema that is no schema."""
    for tool in session.tools:
        function = tool.get("function", tool)
        try:
            check_schema(function.get("parameters", {}), f"the schema of {function.get('name')}")
        except SchemaError as error:
            return str(error)
    return ""


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
    # An environment of a package is named, not written: it has no source to count anything of.
    programs = [one for one in environments if parse_named(one.source) is None]
    groups: list[tuple[str, Iterable[str]]] = [
        ("domain", (one.domain for one in environments)),
        ("skill", (one.skill or "(none)" for one in environments)),
        ("has", (trait for one in programs for trait in _traits(one.source))),
    ]
    for label, values in groups:
        for value, count in sorted(Counter(values).items(), key=lambda pair: (-pair[1], pair[0])):
            table.add_row(f"{label}: {value}", str(count), f"{count / max(1, len(environments)):.0%}")
    lengths = sorted(one.source.count("\n") + 1 for one in programs)
    places = (("shortest", 0), ("median", len(lengths) // 2), ("longest", -1)) if lengths else ()
    for label, at in places:
        table.add_row(f"lines: {label}", str(lengths[at]), "")
    measured = [found for one in environments if (found := measure_program(one.source)) is not None]
    for label, mean in means(measured).items():
        table.add_row(f"mean: {label}", f"{mean:.1f}", "")
    return table


def _traits(source: str) -> list[str]:
    try:
        program = Program(parse_python(source))
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
