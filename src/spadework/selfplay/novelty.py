"""Whether a design is a copy: programs that agree in structure and numbers, whatever their names and texts say."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable


def fingerprint(source: str, *, numbers: bool = True) -> str:
    """A hash of a program that renaming, re-wording, comments and layout leave unchanged; ``numbers`` count by choice.

    Names are numbered in order of appearance and strings dropped. A program that does not parse hashes as it stands.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return hashlib.sha256(source.encode()).hexdigest()
    names: dict[str, int] = {}
    parts: list[str] = []

    def walk(node: ast.AST) -> None:
        parts.append(type(node).__name__)
        for field, value in ast.iter_fields(node):
            for item in value if isinstance(value, list) else (value,):
                if isinstance(item, ast.AST):
                    walk(item)
                elif isinstance(item, str) and field in {"id", "name", "arg", "attr"}:
                    parts.append(str(names.setdefault(item, len(names))))
                elif numbers and isinstance(item, int | float | complex) and field == "value":
                    parts.append(repr(item))

    walk(tree)
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()


class SeenPrograms:
    """Fingerprints of the programs that a design may not copy."""

    def __init__(self, sources: Iterable[str] = ()) -> None:
        self._seen = {fingerprint(source) for source in sources}

    def __contains__(self, source: str) -> bool:
        return fingerprint(source) in self._seen

    def add(self, source: str) -> None:
        """Take in a program."""
        self._seen.add(fingerprint(source))

    def discard(self, source: str) -> None:
        """Forget a program."""
        self._seen.discard(fingerprint(source))

    def state_dict(self) -> dict[str, list[str]]:
        """All fingerprints."""
        return {"seen": sorted(self._seen)}

    def load_state_dict(self, state: dict[str, list[str]]) -> None:
        """Continue from ``state_dict``."""
        self._seen = set(state["seen"])
