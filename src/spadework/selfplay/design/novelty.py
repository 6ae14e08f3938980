"""Whether a design is a copy or nearly one, and how far it is from all that was written before.

A copy agrees in structure and numbers, whatever its names and texts say; nearness is a cosine of embeddings.
"""

from __future__ import annotations

import ast
import functools
import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Embed = Callable[[Sequence[str]], NDArray[np.float32]]
"""Programs -> rows of length 1; see ``policies.embedding.Embedder``."""


@functools.lru_cache(maxsize=256)  # a design is judged, paid and taken in one after the other
def fingerprint(source: str, *, numbers: bool = True) -> str:
    """A hash of a program that renaming, re-wording, comments and layout leave unchanged; ``numbers`` count by choice.

    Names are numbered in order of appearance and strings dropped. A program that does not parse hashes as it stands.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError, SystemError):
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


class Neighbours:
    """The last ``size`` programs as vectors: how near a new one is to the nearest of them.

    Args:
        embed: of programs.
        sources: programs from the start, which always stay.
        size: further ones that are kept, oldest out.
    """

    def __init__(self, embed: Embed, sources: Iterable[str] = (), size: int = 512) -> None:
        self._embed = embed
        self._fixed = list(embed(list(sources)))
        self._sources: deque[str] = deque(maxlen=size)
        self._vectors: deque[NDArray[np.float32]] = deque(maxlen=size)
        self._vector = functools.lru_cache(maxsize=64)(lambda source: embed([source])[0])
        """Of one program, which is judged, paid and taken in one after the other: embedded once."""

    def nearest(self, source: str) -> float:
        """The largest cosine with any program held, in [0, 1]; 0 when none is."""
        held = [*self._fixed, *self._vectors]
        return min(1.0, max(0.0, float(np.max(np.stack(held) @ self._vector(source))))) if held else 0.0

    def add(self, source: str) -> None:
        """Take in a program."""
        self._sources.append(source)
        self._vectors.append(self._vector(source))

    def state_dict(self) -> list[str]:
        """The programs beside those from the start, oldest first."""
        return list(self._sources)

    def load_state_dict(self, state: Sequence[str]) -> None:
        """Continue from ``state_dict``."""
        self._sources.clear()
        self._vectors.clear()
        self._sources.extend(state)
        self._vectors.extend(self._embed(list(self._sources)))


class SeenPrograms:
    """The programs that a design may not copy.

    Args:
        sources: of the start.
        neighbours: the same programs as vectors, where nearness matters.
        max_cosine: nearness from which a program counts as a copy; never, when unset.
    """

    def __init__(
        self, sources: Iterable[str] = (), neighbours: Neighbours | None = None, max_cosine: float | None = None
    ) -> None:
        self._seen = {fingerprint(source) for source in sources}
        self._neighbours, self._max_cosine = neighbours, max_cosine

    def __contains__(self, source: str) -> bool:
        return self.likeness(source) is not None

    def likeness(self, source: str) -> str | None:
        """Why the program counts as a copy; ``None`` for one that does not."""
        if fingerprint(source) in self._seen:
            return "same structure and numbers as a known environment"
        if self._neighbours is None or self._max_cosine is None:
            return None
        cosine = self._neighbours.nearest(source)
        return f"cosine {cosine:.3f} with a known environment" if cosine >= self._max_cosine else None

    def novelty(self, source: str) -> float | None:
        """1 minus the cosine with the nearest program seen, in [0, 1]; ``None`` where nearness is not measured."""
        return None if self._neighbours is None else 1.0 - self._neighbours.nearest(source)

    def add(self, source: str) -> None:
        """Take in a program."""
        self._seen.add(fingerprint(source))
        if self._neighbours is not None:
            self._neighbours.add(source)

    def discard(self, source: str) -> None:
        """Allow a program again."""
        self._seen.discard(fingerprint(source))

    def state_dict(self) -> dict[str, Any]:
        """All fingerprints, and the programs whose nearness counts."""
        return {"seen": sorted(self._seen), "near": self._neighbours.state_dict() if self._neighbours else []}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from ``state_dict``."""
        self._seen = set(state["seen"])
        if self._neighbours is not None:
            self._neighbours.load_state_dict(state["near"])
