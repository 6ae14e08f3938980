"""Intervals over problems, and paired tests that agree with what can be counted by hand."""

import dataclasses
import math

import numpy as np
import pytest

from spadework.evals.bootstrap import mean_interval, paired, sign_flip
from spadework.evals.records import ItemResult


def items(scores: dict[str, list[float]], group: str = "") -> list[ItemResult]:
    return [
        ItemResult(f"{unit}#{place}", group, unit, score)
        for unit, own in scores.items()
        for place, score in enumerate(own)
    ]


def test_eval_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(60):
        found = mean_interval(items({str(n): [float(x)] for n, x in enumerate(rng.random(60) < 0.3)}))
        covered += found.low <= 0.3 <= found.high
    assert 0.88 <= covered / 60 <= 1.0


def test_eval_interval_draws_problems_not_tries() -> None:
    same = items({str(n): [float(n % 2)] * 32 for n in range(10)})
    one_try = items({str(n): [float(n % 2)] for n in range(10)})
    wide, single = mean_interval(same), mean_interval(one_try)
    assert (wide.low, wide.high) == (single.low, single.high), "32 equal tries tell no more than one"
    assert wide.n == 320


def test_eval_interval_over_groups_weighs_them_equally() -> None:
    both = items({str(n): [1.0] for n in range(9)}, "a") + items({str(n): [0.0] for n in range(3)}, "b")
    assert mean_interval(both, by_group=True).mean == 0.5
    assert mean_interval(both).mean == 0.75
    assert math.isnan(mean_interval(both[:1]).low)
    assert math.isnan(mean_interval([]).mean)


def test_eval_interval_of_nothing_but_failures_is_not_certain() -> None:
    none = mean_interval(items({str(n): [0.0] * 4 for n in range(16)}))
    assert (none.mean, none.low) == (0.0, 0.0)
    assert none.high == pytest.approx(1 - 0.025 ** (1 / 16))  # 16 problems: 20.6 %
    every = mean_interval(items({str(n): [1.0] for n in range(16)}))
    assert (every.low, every.high) == (pytest.approx(1 - none.high), 1.0)


@pytest.mark.parametrize(("wins", "losses", "p"), [(5, 0, 2 / 32), (8, 2, 2 * 56 / 1024), (3, 3, 1.0)])
def test_eval_sign_flip_is_mcnemar_for_right_and_wrong(wins: int, losses: int, p: float) -> None:
    assert sign_flip([1.0] * wins + [-1.0] * losses + [0.0] * 7) == pytest.approx(p)


def test_eval_sign_flip_counts_and_draws_alike() -> None:
    rng = np.random.default_rng(0)
    few = [float(x) for x in rng.normal(0.5, 1, 14)]
    exact = sign_flip(few)
    signs = rng.choice([-1, 1], (200_000, 14))
    assert exact == pytest.approx(np.mean(np.abs(signs @ few) >= abs(sum(few))), abs=0.01)
    assert sign_flip([1.0, 0.5] * 20) < 0.001
    assert sign_flip([]) == 1.0


def test_eval_paired_looks_at_common_items_alone() -> None:
    first = items({str(n): [0.0] for n in range(8)})
    second = items({str(n): [1.0] for n in range(2, 10)})
    difference, p = paired(first, second)
    assert (difference.mean, difference.n) == (1.0, 6)
    assert p == pytest.approx(2 / 64)
    evenly, p = paired(first, items({str(n): [float(n % 2)] for n in range(8)}))
    level, p = paired(
        items({str(n): [float(n % 2)] for n in range(8)}), items({str(n): [1.0 - n % 2] for n in range(8)})
    )
    assert evenly.mean == 0.5
    assert (level.mean, p) == (0.0, 1.0)
    assert level.low < 0 < level.high, "as many wins as losses leave doubt on both sides"


@pytest.mark.parametrize(("before", "after"), [(0.0, 0.0), (1.0, 1.0), (1.0, 0.0), (0.0, 1.0)])
def test_eval_paired_of_equal_differences_is_open_where_it_can_be(before: float, after: float) -> None:
    first, second = (items({str(n): [score] for n in range(16)}) for score in (before, after))
    found, _ = paired(first, second)
    reach = 1 - 0.025 ** (1 / 16)
    assert found.low == pytest.approx(max(-1.0, after - before - reach))
    assert found.high == pytest.approx(min(1.0, after - before + reach))


def test_eval_paired_over_groups_weighs_them_equally() -> None:
    first = items({f"a{n}": [0.0] for n in range(18)}, "a") + items({f"b{n}": [1.0] for n in range(3)}, "b")
    second = [dataclasses.replace(item, score=1 - item.score) for item in first]
    assert paired(first, second)[0].mean == pytest.approx(15 / 21)
    found, p = paired(first, second, by_group=True)
    assert found.mean == 0.0
    assert p == pytest.approx(1.0)


def test_eval_sign_flip_counts_more_differences_than_a_float_holds() -> None:
    assert sign_flip([1.0, -1.0] * 600) == 1.0
    assert 0 < sign_flip([1.0] * 640 + [-1.0] * 560) < 0.03
