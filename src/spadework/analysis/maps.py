"""Texts as points of a plane: alike ones near each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spadework.analysis.diversity import tfidf

Matrix = NDArray[np.float64]
T_SNE_LIMIT = 3_000
"""Texts above which t-SNE takes too long to wait for; their two main directions are shown instead."""


def lsa(texts: Sequence[str], dimensions: int = 128) -> Matrix:
    """Latent semantic analysis: (n, at most ``dimensions``), the main directions of TF-IDF, rows of length 1."""
    left, values, _ = np.linalg.svd(tfidf(texts), full_matrices=False)
    kept = min(dimensions, len(values))
    rows = left[:, :kept] * values[:kept]
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))


def flatten(vectors: Matrix, seed: int = 0) -> tuple[Matrix, str]:
    """(n, 2) and the name of the way: t-SNE where scikit-learn is installed and there are 5 to 3,000 rows, else PCA."""
    start = _principal(vectors)
    if 5 <= len(vectors) <= T_SNE_LIMIT and start.any():
        try:
            from sklearn.manifold import TSNE
        except ImportError:
            pass
        else:
            perplexity = min(30.0, (len(vectors) - 1) / 3)
            model = TSNE(2, perplexity=perplexity, init=1e-4 * start / start.std(), random_state=seed)
            return np.asarray(model.fit_transform(vectors), dtype=np.float64), "t-SNE"
    return start, "PCA"


def _principal(vectors: Matrix) -> Matrix:
    """The two main directions of centred vectors; a missing one is 0."""
    points = np.zeros((len(vectors), 2))
    if len(vectors) > 1:
        left, values, _ = np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)
        kept = min(2, len(values))
        points[:, :kept] = left[:, :kept] * values[:kept]
    return points
