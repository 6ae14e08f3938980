"""Held-out results of a run, and the paper's own rows to stand beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from spadework.evals.reference import all_rows


def evaluations(run: Path) -> list[dict[str, Any]]:
    """One row a result file ``evals/CYCLE/SUITE.json``, by cycle, which is -1 for ``evals/start``: before training.

    A file that cannot be read is named in ``problem``.
    """
    rows = []
    for file in sorted((run / "evals").glob("*/*.json")):
        cycle = int(file.parent.name) if file.parent.name.isdigit() else -1
        place = {"suite": file.stem, "cycle": cycle}
        try:
            result = json.loads(file.read_text(encoding="utf-8"))
            rows.append({**place, **{key: result[key] for key in ("setting", "score", "groups", "n", "errors")}})
        except (OSError, ValueError, KeyError, TypeError) as error:
            rows.append({**place, "problem": f"{file.name} cannot be read: {error!r}"})
    return sorted(rows, key=lambda row: row["cycle"])


def paper_rows() -> list[dict[str, Any]]:
    """``table``, ``model``, ``suite`` and ``score`` (in [0, 1]) of every figure that the authors published."""
    return [
        {"table": f"Table {row.table}", "model": row.model, "suite": column, "score": value / 100}
        for row in all_rows()
        for column, value in row.values.items()
    ]
