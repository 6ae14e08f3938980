"""Nothing but a domain itself asks which domain it is."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import spadework
from spadework.envs.registry import DOMAINS

PACKAGE = Path(spadework.__file__).parent
NAMES = set(DOMAINS.names())
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] != "domains")


def branches(source: str) -> list[int]:
    """Lines that compare something with a domain's name, match it, or look it up in a table."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue):
            parts = [node.value]
        elif isinstance(node, ast.Dict):
            parts = [key for key in node.keys if key is not None]
        elif isinstance(node, ast.Subscript):
            parts = [node.slice]
        else:
            continue
        texts = [inner for part in parts for inner in ast.walk(part) if isinstance(inner, ast.Constant)]
        lines += [node.lineno for text in texts if text.value in NAMES]
    return lines


@pytest.mark.parametrize(
    "source",
    [
        'x = 1 if domain == "games" else 2',
        'if "tool_use" != config.domain: pass',
        'if domain in ("games", "other"): pass',
        'match domain:\n    case "tool_use":\n        pass',
        'prompt = {"games": 1}[domain]',
    ],
)
def test_branches_are_seen(source: str) -> None:
    assert branches(source)


def test_nothing_outside_of_the_domains_branches_on_a_domain() -> None:
    registry = PACKAGE / "envs" / "registry.py"
    found = {str(path): lines for path in FILES if path != registry and (lines := branches(path.read_text()))}
    assert found == {}
