"""Decide when a run writes a checkpoint: often enough to lose little to a kill, seldom enough to cost little."""

from __future__ import annotations

from spadework.config import RunSection

MOST_OF_THE_TIME = 0.05
"""Largest share of a run's time that checkpoints may take where ``run.checkpoint_minutes`` is unset."""


class Cadence:
    """Decides after which cycles a checkpoint is due. It reads no clock; callers pass seconds of one clock.

    A checkpoint is always due after the last cycle and after every evaluated cycle. Of the other cycles, only every
    ``run.checkpoint_every``-th is considered. A checkpoint is due there when

    * the run is deterministic, and so must not depend on a clock; or
    * ``run.checkpoint_minutes`` is set, and that much time has passed since the last checkpoint was written; or
    * it is unset, and writing the last checkpoint took less than ``MOST_OF_THE_TIME`` of the time since then. The cost
      of the first checkpoint is not known beforehand, so the first is due.
    """

    def __init__(self, run: RunSection, began: float) -> None:
        self._run = run
        self._written = began
        """When the last checkpoint was completed; before the first one, when the run began."""
        self._cost: float | None = None
        """Seconds that writing the last checkpoint took; ``None`` before the first."""

    def due(self, cycle: int, now: float) -> bool:
        """Whether to write a checkpoint after this cycle, counted from 0."""
        if cycle == self._run.cycles - 1 or self.evaluates(cycle):
            return True
        if (cycle + 1) % self._run.checkpoint_every:
            return False
        passed = now - self._written
        if self._run.deterministic:
            return True
        if self._run.checkpoint_minutes is not None:
            return passed >= 60 * self._run.checkpoint_minutes
        return self._cost is None or self._cost <= MOST_OF_THE_TIME * passed

    def evaluates(self, cycle: int) -> bool:
        """Whether this cycle is evaluated: every ``run.evaluate_every``-th and the last, where that is set."""
        every = self._run.evaluate_every
        return bool(every) and ((cycle + 1) % every == 0 or cycle == self._run.cycles - 1)

    def written(self, began: float, ended: float) -> None:
        """Record that a checkpoint was written between these two times."""
        self._cost, self._written = ended - began, ended
