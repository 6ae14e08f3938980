"""Diversity over training: the Vendi score, divided by n, of each batch of n environments in order of entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from spadework.analysis.diversity import vendi_score
from spadework.analysis.maps import lsa
from spadework.policies.embedding import SentenceModel
from spadework.runs.store import RunStore

BATCH = 24
"""Environments of a batch (the paper's appendix F.1.2): a Vendi score over n means little without its n."""
MOST = 50
"""The most batches that are scored; of a longer run, batches at even distances are taken."""

Vectors = Callable[[Sequence[str]], NDArray[Any]]
"""Texts -> (n, d), rows of length 1."""


def ways(embedder: str = "") -> dict[str, Vectors]:
    """TF-IDF with LSA in 128 directions, and a sentence model by name if one is given. Raises ``ConfigError``."""
    found: dict[str, Vectors] = {"TF-IDF + LSA-128": lsa}
    return (
        {"MiniLM" if embedder == "minilm" else embedder: SentenceModel(embedder).embed, **found} if embedder else found
    )


def diversity_by_batch(path: Path, how: Mapping[str, Vectors], batch: int = BATCH) -> pa.Table:
    """One row for each batch of environments that the designer wrote.

    The columns are ``cycle`` (that of the batch's last environment), ``n``, and one for each way in ``how`` to turn
    texts into vectors. A run with fewer environments than a batch is one smaller batch, and one with fewer than two has
    no row. An incomplete last batch is left out. Raises ``RunError``.
    """
    store = RunStore.read(path)
    try:
        rows = store.query(_PROGRAMS)
    finally:
        store.close()
    size = min(batch, len(rows))
    starts = range(0, len(rows) - size + 1, size) if size > 1 else ()
    taken = [starts[int(place)] for place in np.linspace(0, len(starts) - 1, min(MOST, len(starts)))] if starts else []
    spans = [rows[start : start + size] for start in taken]
    texts = [row["source"] for span in spans for row in span]
    table: dict[str, list[Any]] = {"cycle": [span[-1]["cycle"] for span in spans], "n": [size] * len(spans)}
    for name, vectors in how.items():
        matrix = vectors(texts) if texts else np.zeros((0, 1))
        table[name] = [vendi_share(matrix[i * size : (i + 1) * size]) for i in range(len(spans))]
    kinds = {"cycle": pa.int64(), "n": pa.int64()}
    return pa.table({name: pa.array(values, kinds.get(name, pa.float64())) for name, values in table.items()})


def vendi_share(vectors: NDArray[Any]) -> float:
    """Vendi score over n, by the cosine of rows of length 1: 1 / n for copies, 1 for rows at right angles."""
    kernel = np.asarray(vectors, dtype=np.float64) @ np.asarray(vectors, dtype=np.float64).T
    np.fill_diagonal(kernel, 1.0)
    return vendi_score(kernel) / len(kernel)


_PROGRAMS = """SELECT source, min(cycle) AS cycle FROM environments
    WHERE design_id IS NOT NULL OR NOT EXISTS (SELECT 1 FROM environments WHERE design_id IS NOT NULL)
    GROUP BY id ORDER BY min(cycle), min(rowid)"""
