"""Intervals over problems, and paired tests that agree with what can be counted by hand."""

import dataclasses
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from spadework.errors import ConfigError
from spadework.evals.bootstrap import mean_score, paired, score_interval
from spadework.evals.in_training import RunEvaluator
from spadework.evals.records import ItemResult
from spadework.evals.runner import Choice


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
        found = score_interval(items({str(n): [float(x)] for n, x in enumerate(rng.random(60) < 0.3)}))
        covered += found.low <= 0.3 <= found.high
    assert 0.88 <= covered / 60 <= 1.0


def test_eval_interval_draws_problems_not_tries() -> None:
    same = items({str(n): [float(n % 2)] * 32 for n in range(10)})
    one_try = items({str(n): [float(n % 2)] for n in range(10)})
    wide, single = score_interval(same), score_interval(one_try)
    assert (wide.low, wide.high) == (single.low, single.high), "32 equal tries tell no more than one"
    assert wide.n == 320


def test_eval_interval_over_groups_weighs_them_equally() -> None:
    both = items({str(n): [1.0] for n in range(9)}, "a") + items({str(n): [0.0] for n in range(3)}, "b")
    assert score_interval(both, by_group=True).mean == 0.5
    assert score_interval(both).mean == 0.75
    assert math.isnan(score_interval(both[:1]).low)
    assert math.isnan(score_interval([]).mean)


def test_eval_interval_of_nothing_but_failures_is_not_certain() -> None:
    none = score_interval(items({str(n): [0.0] * 4 for n in range(16)}))
    assert (none.mean, none.low) == (0.0, 0.0)
    assert none.high == pytest.approx(1 - 0.025 ** (1 / 16))  # 16 problems: 20.6 %
    every = score_interval(items({str(n): [1.0] for n in range(16)}))
    assert (every.low, every.high) == (pytest.approx(1 - none.high), 1.0)


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


@pytest.mark.parametrize(("before", "after"), [(0.0, 0.0), (1.0, 1.0), (1.0, 0.0), (0.0, 1.0), (0.25, 0.75)])
def test_eval_paired_of_equal_differences_is_open_where_it_can_be(before: float, after: float) -> None:
    first, second = (items({str(n): [score] for n in range(16)}) for score in (before, after))
    found, _ = paired(first, second)
    unseen, difference = 1 - 0.025 ** (1 / 16), after - before
    assert found.low == pytest.approx(difference - unseen * (difference + 1))
    assert found.high == pytest.approx(difference + unseen * (1 - difference))


def test_eval_interval_of_equal_parts_is_not_certain() -> None:
    half = score_interval(items({str(n): [1.0, 0.0] for n in range(8)}))
    assert 0.0 < half.low < 0.5 < half.high < 1.0


def test_eval_groups_of_one_problem_leave_the_interval_unknown() -> None:
    both = items({"x": [1.0]}, "a") + items({"y": [0.0]}, "b")
    found = score_interval(both, by_group=True)
    assert (found.mean, mean_score(both, by_group=True)) == (0.5, 0.5)
    assert math.isnan(found.low)
    mixed = score_interval(both + items({"z": [1.0]}, "b"), by_group=True)
    assert (mixed.low, mixed.high) == (0.5, 1.0), "the group of one stays as it is"


def test_eval_paired_over_groups_weighs_them_equally() -> None:
    first = items({f"a{n}": [0.0] for n in range(18)}, "a") + items({f"b{n}": [1.0] for n in range(3)}, "b")
    second = [dataclasses.replace(item, score=1 - item.score) for item in first]
    assert paired(first, second)[0].mean == pytest.approx(15 / 21)
    found, p = paired(first, second, by_group=True)
    assert found.mean == 0.0
    assert p == pytest.approx(1.0)


def test_eval_in_training_asks_for_scipy_before_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(ConfigError, match="need scipy"):
        RunEvaluator(list, tmp_path, "model", 1, Choice())
