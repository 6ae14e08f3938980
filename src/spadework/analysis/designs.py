"""The outcomes of a designer's attempts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from spadework.types import Design

ACCEPTED = "accepted"


def outcome(design: Design) -> str:
    """``accepted``, the code that rejected it, or the kind and code of a fault that says nothing about it."""
    if design.fault is not None:
        return f"{design.fault.kind} fault {design.fault.code}"
    return ACCEPTED if design.accepted else design.findings[0].partition(" ")[0].rstrip(":")


def outcomes(designs: Iterable[Design]) -> dict[str, int]:
    """Attempts by outcome: accepted ones first, then rejections, the most frequent first."""
    counts = Counter(outcome(design) for design in designs)
    accepted = {ACCEPTED: counts.pop(ACCEPTED, 0)}
    return accepted | dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
