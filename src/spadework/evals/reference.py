"""The paper's tables, as rows to set beside what was measured. They are the authors' figures and never ours."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

TABLES = Path(__file__).parent / "data" / "paper_tables.json"


@dataclass(frozen=True, slots=True)
class ReferenceRow:
    """One row of a published table."""

    table: str
    setting: str
    """``games`` or ``tool_use``."""
    model: str
    size: str
    kind: str
    """``base``, ``baseline``, ``spade`` or ``ablation``."""
    values: Mapping[str, float]
    """Column (``suite`` or ``suite/group``) -> per cent."""


def all_rows() -> list[ReferenceRow]:
    """Every row of every table, in their order."""
    return [ReferenceRow(**row) for row in json.loads(TABLES.read_text("utf-8"))["rows"]]


def reference_rows(columns: Collection[str], which: str = "main") -> list[ReferenceRow]:
    """The rows that hold any of ``columns``.

    ``which``: ``main`` (base models and SPADE), ``all``, ``none``, or a size (all rows of that size).
    """
    if which == "none":
        return []
    wanted = {"main": ("base", "spade")}.get(which, ("base", "baseline", "spade", "ablation"))
    return [
        row
        for row in all_rows()
        if row.kind in wanted and which in ("main", "all", row.size) and set(row.values) & set(columns)
    ]


def source() -> str:
    """Where they come from."""
    return str(json.loads(TABLES.read_text("utf-8"))["source"])
