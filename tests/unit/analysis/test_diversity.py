"""Vendi score and TF-IDF, by hand."""

import math

import numpy as np
import pytest

from spadework.analysis.diversity import text_diversity, tfidf, vendi_score


def test_vendi_of_copies_strangers_and_between():
    assert vendi_score(np.ones((5, 5))) == pytest.approx(1.0)
    assert vendi_score(np.eye(5)) == pytest.approx(5.0)
    # eigenvalues of [[1, .5], [.5, 1]] / 2 are 3/4 and 1/4
    entropy = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    assert vendi_score(np.array([[1.0, 0.5], [0.5, 1.0]])) == pytest.approx(math.exp(entropy))
    # two pairs of copies count as two
    assert vendi_score(np.kron(np.eye(2), np.ones((2, 2)))) == pytest.approx(2.0)


def test_tfidf_by_hand():
    rows = tfidf(["a a b", "B c"])
    one, two = 2 * (math.log(3 / 2) + 1), 1.0  # a twice in one text of two; b in both: ln(3/3) + 1
    assert rows[0] == pytest.approx(np.array([one, two, 0]) / math.hypot(one, two))
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1.0, 1.0])


def test_texts():
    assert text_diversity(["x y"] * 4) == pytest.approx(0.25)
    assert text_diversity(["a", "b", "c"]) == pytest.approx(1.0)
    assert text_diversity(["", ""]) == pytest.approx(1.0)
    assert math.isnan(text_diversity([]))
