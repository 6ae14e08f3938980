"""P values of studies and evaluations, from scipy, which is imported when the first is worked out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import ModuleType
from typing import Any, Literal

import numpy as np

from spadework.errors import ConfigError

Alternative = Literal["greater", "two-sided"]

EXACT = 16
"""Differences up to which all sign patterns are counted: 65,536 of them."""
PATTERNS = 9_999
"""Sign patterns that are drawn, with a fixed seed, where there are more differences."""


def scipy_stats() -> ModuleType:
    """``scipy.stats``. Raises ``ConfigError`` that names the extras where scipy is not installed."""
    try:
        from scipy import stats
    except ImportError:
        raise ConfigError(
            "the statistics of studies and evaluations need scipy, which the extras `study` and `eval` bring: "
            "pip install 'spadework[study]'"
        ) from None
    return stats  # type: ignore[no-any-return]


def t_test(differences: Sequence[float]) -> float:
    """One-sided p of a mean above 0, by Student's t.

    NaN for fewer than two differences. Equal differences give the t test nothing to go by: sign flips decide then.
    """
    if len(differences) < 2:
        return math.nan
    spread = float(np.std(differences))
    if spread <= 1e-12 * abs(math.fsum(differences)):
        return sign_flip(differences, "greater")
    return float(scipy_stats().ttest_1samp(differences, 0.0, alternative="greater").pvalue)


def sign_flip(differences: Sequence[float], alternative: Alternative) -> float:
    """P that a sum at least as far from 0 arises when each difference may as well have the other sign.

    ``greater`` asks for sums as large, ``two-sided`` for sums as large or as small. Zeros are left out: their sign
    changes nothing. NaN for no differences, 1 for zeros alone.
    """
    if not len(differences):
        return math.nan
    values = np.array([value for value in differences if value], dtype=float)
    if not len(values):
        return 1.0
    stats = scipy_stats()
    sizes = np.abs(values)
    if np.all(sizes == sizes[0]):  # then the number of positive signs says it all, and it is binomial
        positive = int((values > 0).sum())
        return float(stats.binomtest(positive, len(values), alternative=alternative).pvalue)

    def total(sample: Any, axis: int = -1) -> Any:
        """The sum in units of the largest difference, rounded so that no pattern falls short of itself."""
        return np.round(np.sum(sample, axis=axis) / sizes.max(), 9)

    found = stats.permutation_test(
        (values,),
        total,
        permutation_type="samples",
        alternative=alternative,
        n_resamples=2**EXACT if len(values) <= EXACT else PATTERNS,
        batch=1_024,
        rng=np.random.default_rng(0),
        vectorized=True,
    )
    return float(found.pvalue)


def holm(values: Sequence[float]) -> list[float]:
    """P values corrected for all being looked at, after Holm, which scipy lacks; a NaN counts as 1."""
    known = [1.0 if math.isnan(value) else value for value in values]
    order = sorted(range(len(known)), key=lambda place: known[place])
    corrected, worst = [1.0] * len(known), 0.0
    for rank, place in enumerate(order):
        worst = max(worst, min(1.0, known[place] * (len(known) - rank)))
        corrected[place] = worst
    return corrected
