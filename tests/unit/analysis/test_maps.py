from __future__ import annotations

import numpy as np
import pytest

from spadework.analysis.maps import flatten, lsa

SUMS = [f"add {a} and {b}: the sum of two numbers" for a, b in zip(range(8), range(9, 17), strict=True)]
WORDS = [
    f"sort the letters of the word {word} by the alphabet"
    for word in "tree house river cloud stone field bird lamp".split()
]


@pytest.mark.parametrize("count", [8, 2])
def test_alike_texts_lie_near_each_other(count: int) -> None:
    vectors = lsa(SUMS[:count] + WORDS[:count])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    points, _ = flatten(vectors)
    assert points.shape == (2 * count, 2)
    middle = points[:count].mean(axis=0), points[count:].mean(axis=0)
    spread = max(points[:count].std(), points[count:].std()) if count > 2 else 0.0
    assert np.linalg.norm(middle[0] - middle[1]) > spread


@pytest.mark.parametrize("texts", [["alone"], ["same"] * 6, ["", ""]])
def test_few_or_equal_texts_have_places_too(texts: list[str]) -> None:
    points, _ = flatten(lsa(texts))
    assert points.shape == (len(texts), 2) and np.isfinite(points).all()
