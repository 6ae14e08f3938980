"""The page on reliability names tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")


def test_every_fault_has_a_test_that_exists() -> None:
    rows = [line for line in PAGE.splitlines() if re.match(r"\| \d+\. ", line)]
    assert [int(row.split(".")[0].strip("| ")) for row in rows] == list(range(1, 47))
    missing = []
    for row in rows:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row)
        assert named, row
        for file, test in named:
            functions = ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8")))
            if not any(getattr(one, "name", None) == test for one in functions):
                missing.append(f"{file}::{test}")
    assert not missing
