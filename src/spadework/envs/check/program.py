"""Both halves of the check on one program, and on many at a time with bounded concurrency."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from spadework.envs.check.answers.leaks import check_hint
from spadework.envs.check.findings import Finding, fatal
from spadework.envs.check.panel.table import Statistics
from spadework.envs.check.runtime import RuntimeChecks, RuntimeReport, check_runtime
from spadework.envs.check.static.source import check_source
from spadework.envs.domain import Domain
from spadework.envs.registry import recognise
from spadework.envs.sandbox.base import Sandbox

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Checked:
    """What is said of one program; without statistics where it was not run."""

    findings: tuple[Finding, ...]
    domain: str
    """The name of the domain that it was checked as."""
    statistics: Statistics | None = None


async def check_program(
    sandbox: Sandbox | None, source: str, settings: RuntimeChecks, domain: Domain | None = None, hint: str = ""
) -> Checked:
    """Static findings, and those of running it unless a static error forbids or there is no sandbox; then of the hint.

    ``domain`` ``None`` reads it off the source. Raises ``SandboxError``.
    """
    static, known = await asyncio.to_thread(_check_static, source, domain)
    if sandbox is None or any(finding.code.startswith(("ENV0", "ENV1")) for finding in fatal(static)):
        return Checked(static, known.name)
    report = await check_runtime(sandbox, source, known, settings)
    said = {finding.code for finding in static}
    extra = tuple(finding for finding in report.findings if finding.code not in said)
    about_hint = hint_findings(hint, report, known) if hint else []
    return Checked((*static, *extra, *about_hint), known.name, report.statistics)


def _check_static(source: str, domain: Domain | None) -> tuple[tuple[Finding, ...], Domain]:
    """The static findings and the domain, read off the source where it is not given. Runs beside the event loop."""
    known = domain or recognise(source)
    return tuple(check_source(source, known)), known


def hint_findings(hint: str, report: RuntimeReport, domain: Domain) -> list[Finding]:
    """``check_hint`` with what the oracle's plays show."""
    answers = [domain.dialogue.decode(play.actions[-1]) or "" for play in report.oracle if play.win]
    telling = [answer for answer in answers if answer != "done"]
    openings = [play.opening for play in report.oracle]
    return check_hint(hint, telling, openings, domain.checks.hidden(report.oracle))


async def in_order(
    items: Iterable[T], work: Callable[[T], Awaitable[R]], jobs: int
) -> AsyncIterator[tuple[T, R | Exception]]:
    """``work`` on every item, ``jobs`` at a time, results in the items' order; an exception is a result.

    ``items`` is drawn from only as fast as results leave, so memory does not grow with their number.
    """
    running: deque[tuple[T, asyncio.Task[R]]] = deque()
    source = iter(items)
    free = asyncio.Semaphore(jobs)

    async def guarded(item: T) -> R:
        async with free:
            return await work(item)

    try:
        while True:
            while len(running) < 2 * jobs and (drawn := next(source, None)) is not None:
                running.append((drawn, asyncio.create_task(guarded(drawn))))
            if not running:
                return
            item, task = running.popleft()
            await asyncio.wait([task])
            yield item, task.exception() or task.result()  # type: ignore[misc]
    finally:
        for _, task in running:
            task.cancel()
