"""Validation of a design, in the order of method section 4; the first stage with a fatal finding rejects it.

The checks are those of ``spadework check``. A fault of the sandbox says nothing about the program: it is tried once
more, and then the attempt is given up as such.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from spadework.envs.check.findings import Finding, fatal
from spadework.envs.check.runtime import RuntimeChecks, RuntimeReport, check_runtime
from spadework.envs.check.static.source import check_source
from spadework.envs.domain import Domain
from spadework.envs.sandbox.base import Sandbox
from spadework.errors import SandboxError
from spadework.selfplay.design.novelty import SeenPrograms


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of validating one program."""

    findings: tuple[str, ...]
    """The reasons for its rejection; empty when it is accepted."""
    ran: bool = False
    """Whether it could be constructed, reset and stepped without a fault."""
    report: RuntimeReport | None = None
    """The results of running it. The oracle's plays tell what a hint must not contain. ``None`` if it was rejected."""
    novelty: float | None = None
    """1 minus its cosine with the nearest earlier program; ``None`` where that is not measured."""


class Validator:
    """Validates programs. ``seen`` holds earlier programs; with ``refuse_copies``, a copy of one is rejected."""

    def __init__(
        self,
        sandbox: Sandbox,
        domain: Domain,
        checks: RuntimeChecks,
        seen: SeenPrograms | None = None,
        *,
        refuse_copies: bool = True,
    ) -> None:
        self.sandbox, self.domain, self.checks = sandbox, domain, checks
        self.seen, self.refuse_copies = seen, refuse_copies

    async def __call__(self, source: str) -> Verdict:
        """Validate one program. Raises ``SandboxError`` when the sandbox failed twice."""
        if not source.strip():
            return Verdict(("ENV001 the reply holds no Python block",))
        static = fatal(await asyncio.to_thread(check_source, source, self.domain))
        if static:
            return Verdict(_texts(static))
        try:
            report = await check_runtime(self.sandbox, source, self.domain, self.checks)
        except SandboxError:
            report = await check_runtime(self.sandbox, source, self.domain, self.checks)
        rejected = list(fatal(report.findings))
        ran = not any(finding.code.startswith(("ENV0", "ENV2")) for finding in rejected)
        if rejected or self.seen is None:
            return Verdict(_texts(rejected), ran, None if rejected else report)
        likeness = self.seen.likeness(source) if self.refuse_copies else None
        if likeness is not None:
            return Verdict((f"COPY {likeness}",), ran=ran)
        return Verdict((), ran, report, self.seen.novelty(source))


def _texts(findings: tuple[Finding, ...] | list[Finding]) -> tuple[str, ...]:
    return tuple(str(finding) for finding in findings)
