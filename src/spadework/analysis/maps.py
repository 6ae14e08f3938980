"""Maps of texts: each becomes a vector, and the vectors become points of a plane, similar ones near each other."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from spadework.analysis.diversity import tfidf
from spadework.errors import ConfigError
from spadework.policies.embedding import MINILM, SentenceModel, minilm_is_installed

Matrix = NDArray[np.float64]

TFIDF = "tfidf"
KINDS = {MINILM: "MiniLM", TFIDF: "TF-IDF + LSA-128"}
"""Key and name of each way in which a text becomes a vector."""
TSNE, UMAP, PCA = "t-SNE", "UMAP", "PCA"
T_SNE_LIMIT = 3_000
"""Texts above which t-SNE takes too long to wait for; their two main directions are shown instead."""
FEWEST = 5
"""Texts below which neighbours mean nothing, and the main directions are shown."""
NEIGHBOURS = 15
"""UMAP's own default."""
_read: dict[str, Matrix] = {}
"""What MiniLM made of each text so far."""


def map_kinds() -> list[str]:
    """The keys of ``KINDS`` that can be had here, the best first."""
    sentences = minilm_is_installed() and importlib.util.find_spec("transformers") is not None
    return [MINILM, TFIDF] if sentences else [TFIDF]


def map_ways() -> list[str]:
    """The layouts whose packages are installed, the best first."""
    packages = {TSNE: "sklearn", UMAP: "umap"}
    return [way for way, package in packages.items() if importlib.util.find_spec(package) is not None] + [PCA]


def vectors(texts: Sequence[str], kind: str) -> Matrix:
    """(n, d), rows of length 1, by a key of ``KINDS``. What MiniLM made of a text is kept. Raises ``ConfigError``."""
    if kind == TFIDF:
        return lsa(texts)
    new = sorted({text for text in texts if text not in _read}, key=len)  # alike lengths waste no padding
    _read.update(zip(new, np.asarray(_sentence_model().embed(new), dtype=np.float64), strict=True))
    return np.stack([_read[text] for text in texts])


def lsa(texts: Sequence[str], dimensions: int = 128) -> Matrix:
    """Latent semantic analysis: (n, at most ``dimensions``), the main directions of TF-IDF, rows of length 1."""
    left, values, _ = np.linalg.svd(tfidf(texts), full_matrices=False)
    kept = min(dimensions, len(values))
    rows = left[:, :kept] * values[:kept]
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))


def flatten(vectors: Matrix, way: str = TSNE, seed: int = 0) -> tuple[Matrix, str]:
    """(n, 2) and the way that was taken: ``way``, or PCA where that cannot be.

    t-SNE needs scikit-learn and at most 3,000 rows; both it and UMAP need 5 rows that are not all the same.

    Raises:
        ConfigError: UMAP is asked for and not installed, or there is no such way.
    """
    if way not in (TSNE, UMAP, PCA):
        raise ConfigError(f"no layout {way!r}; there are {TSNE}, {UMAP} and {PCA}")
    principal = _principal(vectors)
    if way == PCA or len(vectors) < FEWEST or not principal.any():
        return principal, PCA
    start = principal / principal.std()
    if way == UMAP:
        return _umap(vectors, start, seed), UMAP
    places = _t_sne(vectors, start, seed)
    return (principal, PCA) if places is None else (places, TSNE)


def _t_sne(vectors: Matrix, start: Matrix, seed: int) -> Matrix | None:
    try:
        from sklearn.manifold import TSNE as Model
    except ImportError:
        return None
    if len(vectors) > T_SNE_LIMIT:
        return None
    model = Model(2, perplexity=min(30.0, (len(vectors) - 1) / 3), init=1e-4 * start, random_state=seed)
    return np.asarray(model.fit_transform(vectors), dtype=np.float64)


def _umap(vectors: Matrix, start: Matrix, seed: int) -> Matrix:
    try:
        from umap import UMAP as Model
    except ImportError:
        raise ConfigError("a map by UMAP needs the extra `umap`: pip install 'spadework[umap]'") from None
    neighbours = min(NEIGHBOURS, len(vectors) - 1)
    model = Model(n_neighbors=neighbours, init=start.astype(np.float32), random_state=seed, n_jobs=1)
    with warnings.catch_warnings():  # what it warns of is what few rows are like
        warnings.simplefilter("ignore")
        return np.asarray(model.fit_transform(vectors), dtype=np.float64)


def _principal(vectors: Matrix) -> Matrix:
    """The two main directions of centred vectors; a missing one is 0."""
    points = np.zeros((len(vectors), 2))
    if len(vectors) > 1:
        left, values, _ = np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)
        kept = min(2, len(values))
        points[:, :kept] = left[:, :kept] * values[:kept]
    return points


@lru_cache(1)
def _sentence_model() -> SentenceModel:
    return SentenceModel(MINILM)
