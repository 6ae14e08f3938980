"""Pages of the documentation as programs: what a page shows is run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_page(name: str) -> dict[str, Any]:
    """Run the Python blocks of ``docs/NAME`` one after the other in one namespace, and return it.

    A traceback names the page and the line of it.
    """
    path = ROOT / "docs" / name
    text = path.read_text("utf-8")
    blocks = list(_BLOCK.finditer(text))
    assert blocks, f"{path} shows no Python"
    namespace: dict[str, Any] = {"__name__": "page"}
    for block in blocks:
        line = text.count("\n", 0, block.start(1))
        exec(compile("\n" * line + block.group(1), str(path), "exec"), namespace)
    return namespace
