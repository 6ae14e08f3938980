"""Recognise designs that copy an earlier program, and measure how novel a design is.

A copy has the structure and numbers of an earlier program, whatever its names and texts. Near copies and novelty are
measured by the cosine of embeddings.
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

from spadework.text import parse_python

Embed = Callable[[Sequence[str]], NDArray[np.float32]]
"""Programs -> (n, d) array of unit vectors; see ``policies.embedding.Embedder``."""


@functools.lru_cache(maxsize=256)  # a design is checked, scored and added, one after the other
def fingerprint(source: str, *, numbers: bool = True) -> str:
    """A hash of a program's structure, which does not change with names, strings, comments and layout.

    Names are replaced by their order of appearance, and strings are dropped; ``numbers`` says whether numbers count.
    For a program that does not parse it is the hash of the text.
    """
    try:
        tree = parse_python(source)
    except SyntaxError:
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
    """The embeddings of the last ``size`` programs, against which new programs are compared.

    Args:
        embed: embeds programs.
        sources: initial programs, which always stay.
        size: how many further programs are kept; the oldest is dropped.
    """

    def __init__(self, embed: Embed, sources: Iterable[str] = (), size: int = 512) -> None:
        self._embed = embed
        self._fixed = list(embed(list(sources)))
        self._sources: deque[str] = deque(maxlen=size)
        self._vectors: deque[NDArray[np.float32]] = deque(maxlen=size)
        self._vector = functools.lru_cache(maxsize=64)(lambda source: embed([source])[0])
        """Embeds one program, with a cache: a program is embedded when it is checked, scored and added."""

    def nearest(self, source: str) -> float:
        """The largest cosine with any stored program, in [0, 1]; 0 when there is none."""
        held = [*self._fixed, *self._vectors]
        return min(1.0, max(0.0, float(np.max(np.stack(held) @ self._vector(source))))) if held else 0.0

    def add(self, source: str) -> None:
        """Take in a program."""
        self._sources.append(source)
        self._vectors.append(self._vector(source))

    def state_dict(self) -> list[str]:
        """The stored programs without the initial ones, oldest first."""
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
        sources: the initial programs.
        neighbours: the embeddings of the same programs, where similarity is measured.
        max_cosine: the cosine from which a program counts as a copy; ``None`` turns this check off.
    """

    def __init__(
        self, sources: Iterable[str] = (), neighbours: Neighbours | None = None, max_cosine: float | None = None
    ) -> None:
        self._seen = {fingerprint(source) for source in sources}
        self._neighbours, self._max_cosine = neighbours, max_cosine

    def __contains__(self, source: str) -> bool:
        return self.likeness(source) is not None

    def likeness(self, source: str) -> str | None:
        """The reason why the program counts as a copy; ``None`` if it does not."""
        if fingerprint(source) in self._seen:
            return "same structure and numbers as a known environment"
        if self._neighbours is None or self._max_cosine is None:
            return None
        cosine = self._neighbours.nearest(source)
        return f"cosine {cosine:.3f} with a known environment" if cosine >= self._max_cosine else None

    def novelty(self, source: str) -> float | None:
        """1 minus the cosine with the nearest program, in [0, 1]; ``None`` where similarity is not measured."""
        return None if self._neighbours is None else 1.0 - self._neighbours.nearest(source)

    def add(self, source: str) -> None:
        """Take in a program."""
        self._seen.add(fingerprint(source))
        if self._neighbours is not None:
            self._neighbours.add(source)

    def discard(self, source: str) -> None:
        """Remove a program, so that a later design may be equal to it."""
        self._seen.discard(fingerprint(source))

    def state_dict(self) -> dict[str, Any]:
        """All fingerprints, and the programs whose embeddings are stored."""
        return {"seen": sorted(self._seen), "near": self._neighbours.state_dict() if self._neighbours else []}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from ``state_dict``."""
        self._seen = set(state["seen"])
        if self._neighbours is not None:
            self._neighbours.load_state_dict(state["near"])
