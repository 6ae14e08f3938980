"""The paper's published tables, as rows to compare measured results with. The figures are the authors', never ours."""

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
    """Column (``suite`` or ``suite/group``) -> score in per cent."""


def all_rows() -> list[ReferenceRow]:
    """Every row of every table, in the order of the paper."""
    return [ReferenceRow(**row) for row in json.loads(TABLES.read_text("utf-8"))["rows"]]


def reference_rows(columns: Collection[str], which: str = "main") -> list[ReferenceRow]:
    """The rows that have a value in any of ``columns``.

    ``which`` is ``main`` (base models and SPADE), ``all``, ``none``, or a model size (all rows of that size).
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
    """The citation of the paper that the tables come from."""
    return str(json.loads(TABLES.read_text("utf-8"))["source"])
