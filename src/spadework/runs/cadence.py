"""When a run writes a checkpoint: often enough to lose little to a kill, seldom enough to cost little."""

from __future__ import annotations

from spadework.config import RunSection

MOST_OF_THE_TIME = 0.05
"""Largest share of a run's time that checkpoints may take where ``run.checkpoint_minutes`` is unset."""


class Cadence:
    """Decides after which cycles a checkpoint is due. It reads no clock: seconds are given, from any one clock.

    The last cycle and every evaluated cycle are always due. Of the others, every ``run.checkpoint_every``-th may be
    due, and is when

    * the run is deterministic: such a run goes by its cycles alone; or
    * ``run.checkpoint_minutes`` is set, and as much time has passed since the last checkpoint was written; or
    * it is unset, and writing the last checkpoint took less than ``MOST_OF_THE_TIME`` of the time since then. Before
      the first one nobody knows what it costs, so the first is due.
    """

    def __init__(self, run: RunSection, began: float) -> None:
        self._run = run
        self._written = began
        """When the last checkpoint was on disk; at first, when the run began."""
        self._cost: float | None = None
        """Seconds that writing it took."""

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
        """A checkpoint was written in this time."""
        self._cost, self._written = ended - began, ended
