"""From the runs of a study to its numbers: measures by arm and seed, and verdicts, by updates and by the clock."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from spadework.intervals import Interval, mean_interval
from spadework.significance import holm
from spadework.study.comparisons import Comparison, Verdict, compare, verdict
from spadework.study.folder import StudyFolder
from spadework.study.series import RunSeries, measure_range, read_run
from spadework.study.spec import Hypothesis, Study

Axis = Literal["updates", "time"]
Values = Mapping[str, Mapping[str, Sequence[float]]]
"""Measure -> arm -> one value a seed, in the study's order; NaN where there is none."""


@dataclass(frozen=True, slots=True)
class Decided:
    """A hypothesis with its comparisons and its verdict."""

    claim: str
    comparisons: tuple[Comparison, ...]
    p: float
    """The largest p of the comparisons."""
    corrected: float
    """That p after Holm's correction over all hypotheses."""
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Reading:
    """The whole study read at equal updates or at equal time."""

    axis: Axis
    limit: float
    """The updates, or the seconds of training, at which every run is read."""
    values: Values
    ranges: Mapping[str, tuple[float, float]]
    """Measure -> its lowest and highest possible value."""
    decided: tuple[Decided, ...]

    def interval(self, measure: str, arm: str) -> Interval:
        """The mean over the seeds that have a value, with its 95 % interval within the measure's range."""
        known = [value for value in self.values[measure][arm] if not math.isnan(value)]
        return mean_interval(known, *self.ranges[measure])


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that the report prints."""

    study: Study
    runs: Mapping[tuple[str, int], RunSeries]
    """The runs that have begun, by arm and seed."""
    updates: Reading
    time: Reading

    @property
    def finished(self) -> int:
        """The number of runs that are finished."""
        return sum(run.done for run in self.runs.values())

    @property
    def expected(self) -> int:
        """The number of runs that the study has."""
        return len(self.study.arms) * len(self.study.seeds)

    @property
    def errors(self) -> list[float]:
        """The standard errors of all held-out win rates."""
        return [float(line["error"]) for run in self.runs.values() for line in run.evaluations]


def read_results(study: Study, folder: StudyFolder) -> Results:
    """Read every run that has begun; only finished ones enter the values. Raises ``RunError``, ``ConfigError``."""
    runs: dict[tuple[str, int], RunSeries] = {}
    for arm in study.arms:
        for seed in study.seeds:
            found = read_run(study, folder, arm, seed)
            if found is not None:
                runs[arm, seed] = found
    whole = {key: run for key, run in runs.items() if run.done}
    budget = min((run.clock[-1] for run in whole.values()), default=math.nan)
    return Results(
        study,
        runs,
        _reading(study, whole, "updates", study.cycles),
        _reading(study, whole, "time", budget),
    )


def as_json(results: Results) -> dict[str, Any]:
    """The numbers as plain data."""
    readings = (results.updates, results.time)
    return {
        "title": results.study.title,
        "runs": results.expected,
        "finished": results.finished,
        "seeds": list(results.study.seeds),
        "largest_heldout_error": max(results.errors, default=math.nan),
        **{
            reading.axis: {
                "limit": reading.limit,
                "values": reading.values,
                "hypotheses": [dataclasses.asdict(one) for one in reading.decided],
            }
            for reading in readings
        },
    }


def _reading(study: Study, runs: Mapping[tuple[str, int], RunSeries], axis: Axis, limit: float) -> Reading:
    reached = {key: study.cycles if axis == "updates" else run.within(limit) for key, run in runs.items()}
    values = {
        name: {
            arm: [
                runs[arm, seed].value(measure, reached[arm, seed]) if (arm, seed) in runs else math.nan
                for seed in study.seeds
            ]
            for arm in study.arms
        }
        for name, measure in study.measures.items()
    }
    ranges = {
        name: measure_range(measure, [value for own in values[name].values() for value in own])
        for name, measure in study.measures.items()
    }
    found = [_comparisons(study, runs, values, ranges, claim) for claim in study.hypotheses]
    ps = [max((1.0 if math.isnan(one.t_p) else one.t_p for one in own), default=math.nan) for own in found]
    decided = tuple(
        Decided(claim.claim, own, p, corrected, verdict(own, corrected, study.alpha))
        for claim, own, p, corrected in zip(study.hypotheses, found, ps, holm(ps), strict=True)
    )
    return Reading(axis, limit, values, ranges, decided)


def _comparisons(
    study: Study,
    runs: Mapping[tuple[str, int], RunSeries],
    values: Values,
    ranges: Mapping[str, tuple[float, float]],
    claim: Hypothesis,
) -> tuple[Comparison, ...]:
    own = values[claim.measure][claim.arm]
    measure = study.measures[claim.measure]
    low, high = bounds = ranges[claim.measure]
    others: dict[str, Sequence[float]]
    if claim.than == "start":
        started = [runs.get((claim.arm, seed)) for seed in study.seeds]
        others = {"its start": [run.first(measure) if run else math.nan for run in started]}
    elif claim.than:
        others = {study.label(arm): values[claim.measure][arm] for arm in claim.than}
    else:
        others = {"the bar": [0.0] * len(own)}
    if claim.by == "ratio":
        bounds = (0.0 if low >= 0 else -math.inf, math.inf)
    elif claim.than:
        bounds = (low - high, high - low)
    return tuple(compare(name, own, them, claim, bounds) for name, them in others.items())
