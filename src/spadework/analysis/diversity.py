"""The number of kinds among texts: the Vendi score of their TF-IDF vectors (Friedman and Dieng, 2023)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"\w+")


def vendi_score(kernel: NDArray[np.float64]) -> float:
    """The exponential of the entropy of the eigenvalues of K / n: 1 for n copies, n where nothing is shared.

    Args:
        kernel: (n, n), symmetric, with ones on the diagonal.
    """
    values = np.linalg.eigvalsh(kernel / len(kernel))
    positive = values[values > 1e-12]
    return float(np.exp(-np.sum(positive * np.log(positive))))


def tfidf(texts: Sequence[str]) -> NDArray[np.float64]:
    """(n, vocabulary): counts of words times ln((1 + n) / (1 + texts with it)) + 1, each row of length 1."""
    counts = [Counter(_WORD.findall(text.lower())) for text in texts]
    found = Counter(word for count in counts for word in count)
    columns = {word: column for column, word in enumerate(found)}
    rows = np.zeros((len(texts), max(1, len(columns))))
    for row, count in zip(rows, counts, strict=True):
        for word, times in count.items():
            row[columns[word]] = times * (math.log((1 + len(texts)) / (1 + found[word])) + 1)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)


def text_diversity(texts: Sequence[str]) -> float:
    """Vendi score over n of texts by the cosine of their TF-IDF vectors, in [1/n, 1]; NaN without any."""
    if not texts:
        return math.nan
    vectors = tfidf(texts)
    kernel = vectors @ vectors.T
    np.fill_diagonal(kernel, 1.0)
    return vendi_score(kernel) / len(texts)
