"""What a check found: a code of the catalogue, a message about this program, and where."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from spadework.envs.check.codes import CODES, Severity

__all__ = ["CODES", "Finding", "Severity", "fatal"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault of one program. ``str()`` gives ``CODE message``."""

    code: str
    message: str
    line: int | None = None

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"no check has the code {self.code!r}")

    @property
    def severity(self) -> Severity:
        """How grave the catalogue holds this code to be."""
        return CODES[self.code].severity

    @property
    def title(self) -> str:
        """The catalogue's one line on this code."""
        return CODES[self.code].title

    def __str__(self) -> str:
        return f"{self.code} {self.message}"


def fatal(findings: Iterable[Finding], also: Collection[str] = (), never: Collection[str] = ()) -> tuple[Finding, ...]:
    """The findings that reject a program: every error, those in ``also``, and none of those in ``never``.

    ``also`` and ``never`` hold codes or prefixes of codes (``ENV6`` stands for the whole family); the longer one wins.
    """

    def length(code: str, choices: Collection[str]) -> int:
        return max((len(choice) for choice in choices if code.startswith(choice)), default=0)

    def rejects(finding: Finding) -> bool:
        raised, waived = length(finding.code, also), length(finding.code, never)
        return raised > waived if raised or waived else finding.severity == "error"

    return tuple(finding for finding in findings if rejects(finding))
