"""The limits of a run: what counts since when, and which of them lets another job go on."""

from __future__ import annotations

import pytest

from spadework.config import RunConfig, RunSection
from spadework.runs.allowance import Allowance


def test_hours_stop_before_the_cycle_that_would_overrun() -> None:
    allowance = Allowance(RunSection(max_hours=1.0), {}, began=100.0)
    assert allowance.reached({}, 100.0 + 1200) is None
    limit = allowance.reached({}, 100.0 + 2401)  # a third cycle of 20 minutes ends a second too late
    assert limit is not None and limit.again and "run.max_hours" in str(limit)


def test_tokens_count_over_the_whole_run() -> None:
    before = {"tokens/sampled": [(0, 400.0), (1, 500.0)]}
    allowance = Allowance(RunSection(max_tokens=1_000), before, began=0.0)
    assert allowance.reached({"tokens/sampled": 99.0}, 1.0) is None
    limit = allowance.reached({"tokens/sampled": 1.0}, 2.0)
    assert limit is not None and not limit.again and "1,000 tokens" in str(limit)


def test_cost_needs_a_price() -> None:
    allowance = Allowance(RunSection(max_cost=0.5), {"endpoint/cost": [(0, 0.3)]}, began=0.0)
    assert allowance.reached({"endpoint/cost": 0.25}, 1.0) is not None
    with pytest.raises(ValueError, match=r"endpoint\.input_price"):
        RunConfig.model_validate({"run": {"max_cost": 0.5}})
    RunConfig.model_validate({"run": {"max_cost": 0.5}, "endpoint": {"output_price": 2.0}})
