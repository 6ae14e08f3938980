"""The choice of a run's best checkpoint by its suite average, and the curve of that average over the run.

The suite average is the plain mean over columns, as in the paper's tables: Reasoning-Gym counts with its four
categories, every other suite once. Checkpoints are compared on the columns that all of them have.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spadework.evals.records import SuiteResult, read_results

BY_GROUP = ("reasoning-gym",)
"""The suites whose groups are columns of their own."""
LEFT_OUT = ("heldout-hinted", "transfer")
"""The suites that are no column of an average."""
TRAJECTORY = (
    *("gpqa", "livecodebench", "reasoning-gym/math", "reasoning-gym/algorithmic", "reasoning-gym/cognition"),
    "reasoning-gym/logic",
)
"""The six columns that are cheap enough to evaluate often during a run: all columns of the games setting but AIME."""


@dataclass(frozen=True, slots=True)
class Point:
    """One checkpoint: its cycle, and its columns' means from 0 to 1."""

    cycle: int
    columns: Mapping[str, float]

    @property
    def average(self) -> float:
        """The mean over its columns; NaN without any."""
        return mean(list(self.columns.values()))


@dataclass(frozen=True, slots=True)
class Curve:
    """The evaluated checkpoints of a run, by cycle."""

    points: tuple[Point, ...]
    shared: tuple[str, ...]
    """Columns that every point has: the average that decides is over these."""

    def average(self, point: Point) -> float:
        """The mean of a point over the shared columns."""
        return mean([point.columns[name] for name in self.shared])

    @property
    def best(self) -> Point:
        """The point of the highest average, the earliest of them if there are several."""
        return max(self.points, key=lambda point: (self.average(point), -point.cycle))

    @property
    def last(self) -> Point:
        """The point of the latest cycle."""
        return self.points[-1]

    def trajectory(self) -> float:
        """The mean over checkpoints of the six-column average; NaN where a checkpoint lacks one of the six."""
        six = [[point.columns[name] for name in TRAJECTORY if name in point.columns] for point in self.points]
        return mean([mean(own) for own in six]) if all(len(own) == len(TRAJECTORY) for own in six) else math.nan


def columns(results: Sequence[SuiteResult]) -> dict[str, float]:
    """The columns of one checkpoint's results, each with its mean from 0 to 1."""
    found: dict[str, float] = {}
    for result in results:
        suite = result.setting.suite
        if suite in BY_GROUP:
            found |= {f"{suite}/{name}": own for name, own in result.group_means().items()}
        elif suite not in LEFT_OUT:
            found[suite] = result.mean()
    return found


def read_curve(run: Path) -> Curve:
    """The evaluations that lie in a run directory (``RUN/evals/CYCLE``)."""
    points = []
    for folder in sorted((run / "evals").glob("[0-9]*")):
        if any(folder.glob("*.json")):
            points.append(Point(int(folder.name), columns(list(read_results(folder).values()))))
    kept = tuple(sorted((point for point in points if point.columns), key=lambda point: point.cycle))
    shared = [name for name in kept[0].columns if all(name in point.columns for point in kept)] if kept else []
    return Curve(kept, tuple(shared))


def gain_over_start(run: Path) -> float:
    """The best checkpoint's average minus that of the model that the run began with, over columns that all have.

    NaN where no checkpoint or the start (``RUN/evals/start``) was not evaluated.
    """
    folder, curve = run / "evals" / "start", read_curve(run)
    start = columns(list(read_results(folder).values())) if any(folder.glob("*.json")) else {}
    names = tuple(name for name in curve.shared if name in start)
    if not names:
        return math.nan
    best = Curve(curve.points, names).best
    return mean([best.columns[name] for name in names]) - mean([start[name] for name in names])


def mean(values: Sequence[float]) -> float:
    """Plain mean; NaN of nothing."""
    return math.fsum(values) / len(values) if values else math.nan
