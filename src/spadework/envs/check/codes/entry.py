"""One entry of the catalogue of findings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Code:
    """One entry of the catalogue."""

    severity: Severity
    title: str
    why: str
    bad: str = ""
    good: str = ""
