"""What a run may use up: hours of a job, tokens and money. It stops after the cycle that reaches one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spadework.config import RunSection
from spadework.errors import SpadeworkError

TOKENS, COST = "tokens/sampled", "endpoint/cost"
"""Metrics of a cycle; see docs/metrics.md."""


class AllowanceUsedUp(SpadeworkError):
    """A run has stopped at one of its limits, with a checkpoint of its last cycle."""

    def __init__(self, message: str, again: bool) -> None:
        super().__init__(message)
        self.again = again
        """Whether another job may simply go on: the limit was one of this job, not of the run."""


class Allowance:
    """Adds up what a run uses. It reads no clock; callers pass seconds of one clock.

    Hours count from the start of this process, so that a job ends within its share of a cluster; the next cycle is
    taken to last as long as the longest so far. Tokens and cost count over the whole run, resumed parts included.

    Args:
        run: The limits.
        before: The metrics of the cycles that are stored already, as ``RunStore.metrics`` gives them.
        began: When this process began.
    """

    def __init__(self, run: RunSection, before: Mapping[str, Sequence[tuple[int, float]]], began: float) -> None:
        self._run, self._began, self._last = run, began, began
        self._longest = 0.0
        self._tokens, self._cost = (sum(value for _, value in before.get(name, ())) for name in (TOKENS, COST))

    def reached(self, metrics: Mapping[str, float], now: float) -> AllowanceUsedUp | None:
        """Count a cycle that ends now. Returns the limit that it reached, to be raised once the cycle is stored."""
        run = self._run
        self._tokens += metrics.get(TOKENS, 0.0)
        self._cost += metrics.get(COST, 0.0)
        self._longest, self._last = max(self._longest, now - self._last), now
        if run.max_tokens is not None and self._tokens >= run.max_tokens:
            return AllowanceUsedUp(f"run.max_tokens: {self._tokens:,.0f} tokens were sampled", again=False)
        if run.max_cost is not None and self._cost >= run.max_cost:
            return AllowanceUsedUp(f"run.max_cost: the endpoint has cost {self._cost:.2f}", again=False)
        if run.max_hours is not None and now - self._began + self._longest > 3600 * run.max_hours:
            return AllowanceUsedUp(f"run.max_hours: another cycle takes up to {self._longest:.0f} s more", again=True)
        return None
