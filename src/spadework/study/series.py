"""The series of a run over its cycles, finished or not, by updates and by training time."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spadework.errors import ConfigError
from spadework.intervals import UNBOUNDED
from spadework.runs.store import RunStore
from spadework.runs.tables import read_columns
from spadework.study.folder import Job, StudyFolder, arm_pool, write_json
from spadework.study.spec import Measure, Study

Points = Sequence[tuple[int, float]]
"""(updates, value): the value of a cycle stands at the number of updates after it; 0 is the start."""

DERIVED: Mapping[str, Callable[[Mapping[str, float]], float]] = {
    "designer/broken_share": lambda cycle: 1 - cycle["designer/ran_share"],
    "designer/rejected_share": lambda cycle: 1 - cycle["designer/valid_share"],
    "designer/regret_width": lambda cycle: cycle["designer/regret_high"] - cycle["designer/regret_low"],
}
"""Series that are worked out from a cycle's metrics; a formula raises ``KeyError`` where one of them is missing."""
LEVELS = "pool/reward_levels"
HELD_OUT = "heldout/"

RANGES: tuple[tuple[str, tuple[float, float]], ...] = (
    (r"designer/regret_width", (0.0, 4.0)),
    (r".*regret(_low|_high)?", (-2.0, 2.0)),  # the difference of two returns
    (r".*[/_]return", (-1.0, 1.0)),
    (r"replay/lost", (-1.0, 1.0)),
    (r"eval/.*|.*_share|.*_rate|designer/vendi", (0.0, 1.0)),
    (r"(rows|memory|ledger|faults|tokens|time|pool|endpoint)/.*|designer/(attempts|accepted)", (0.0, math.inf)),
)
"""Patterns of series and the values that they can have; the first that fits counts."""


@dataclass(frozen=True, slots=True)
class RunSeries:
    """The series of one run. ``clock[u]`` is the training time in seconds that had passed after ``u`` updates."""

    arm: str
    seed: int
    series: Mapping[str, Points]
    clock: Sequence[float]
    done: bool
    evaluations: Sequence[Mapping[str, Any]] = field(default=())
    """Lines of the held-out file."""

    @property
    def updates(self) -> int:
        """The number of updates so far."""
        return len(self.clock) - 1

    def within(self, seconds: float) -> int:
        """The number of updates that were made within ``seconds`` of training."""
        return max((at for at, passed in enumerate(self.clock) if passed <= seconds), default=0)

    def value(self, measure: Measure, updates: int) -> float:
        """The measure as it stood after so many updates; NaN where its series had no value yet."""
        seen = [value for at, value in self.series.get(measure.series, ()) if at <= updates]
        if not seen:
            return math.nan
        last = _mean_of_known(seen[-measure.last :])
        return last - _mean_of_known(seen[: measure.last]) if measure.since_start else last

    def first(self, measure: Measure) -> float:
        """The mean of the first values of a measure's series."""
        values = [value for _, value in self.series.get(measure.series, ())]
        return _mean_of_known(values[: measure.last])


def measure_range(measure: Measure, values: Sequence[float]) -> tuple[float, float]:
    """The lowest and highest possible value of a measure; infinite where they are not known.

    A study file may name them (``range``). Otherwise they follow from the series' name, unless one of ``values`` (those
    that were seen) contradicts them: returns exceed 1 where a config adds up rewards.
    """
    if measure.range is not None:
        low, high = measure.range
    else:
        fitting = (bounds for pattern, bounds in RANGES if re.fullmatch(pattern, measure.series))
        low, high = next(fitting, UNBOUNDED)
    if measure.since_start:
        low, high = low - high, high - low
    known = [value for value in values if not math.isnan(value)]
    if known and (min(known) < low or max(known) > high):
        return UNBOUNDED
    return low, high


def read_run(study: Study, folder: StudyFolder, arm: str, seed: int) -> RunSeries | None:
    """The series of a run so far; ``None`` before its first cycle. Raises ``RunError`` for a broken run directory."""
    path = folder.run(arm, seed)
    if not (path / "run.sqlite").is_file():
        kept = folder.series(arm, seed)
        return _read_series(kept, arm, seed) if kept.exists() else None
    store = RunStore.read(path)
    try:
        metrics = store.metrics()
        files = store.episode_files()
    finally:
        store.close()
    evaluations = read_evaluations(folder.heldout(arm, seed))
    wanted = {measure.series for measure in study.measures.values()}
    series: dict[str, Points] = {
        name: [(cycle + 1, value) for cycle, value in points] for name, points in metrics.items()
    }
    series |= {name: points for name in DERIVED if name in wanted and (points := _derived(metrics, DERIVED[name]))}
    if LEVELS in wanted and LEVELS not in series:  # a run from before it was a metric
        series[LEVELS] = [(int(file.stem) + 1, reward_levels(file)) for file in files]
    series |= _held_out(evaluations)
    return RunSeries(
        arm=arm,
        seed=seed,
        series=series,
        clock=_clock(metrics, _pool_seconds(study, folder, arm, seed)),
        done=folder.mark(study, Job(arm, seed)).exists(),
        evaluations=evaluations,
    )


def write_series(path: Path, run: RunSeries, study: Study) -> None:
    """Write the series that the study's measures need, for an archive."""
    wanted = {measure.series for measure in study.measures.values()}
    kept = {
        "clock": run.clock,
        "series": {name: points for name, points in run.series.items() if name in wanted},
        "evaluations": [{k: v for k, v in line.items() if k != "by_environment"} for line in run.evaluations],
    }
    write_json(path, kept, indent=None)


def _read_series(path: Path, arm: str, seed: int) -> RunSeries:
    try:
        kept = json.loads(path.read_text("utf-8"))
        series = {
            name: [(int(at), math.nan if value is None else float(value)) for at, value in points]
            for name, points in kept["series"].items()
        }
        return RunSeries(arm, seed, series, kept["clock"], done=True, evaluations=kept["evaluations"])
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: cannot be read ({error!r}); archive the study again") from None


def read_evaluations(path: Path) -> list[dict[str, Any]]:
    """The held-out results of a run so far, without a last line that a kill tore. Raises ``ConfigError``."""
    lines = path.read_text("utf-8").split("\n")[:-1] if path.exists() else []
    try:
        return [json.loads(line) for line in lines]
    except ValueError as error:
        raise ConfigError(f"{path}: holds a line that is no result ({error}); move it away") from None


def reward_levels(file: Path) -> float:
    """Distinct returns of an environment's unhinted episodes in one cycle: the mean over environments, or NaN."""
    rows = read_columns(file, ["environment_id", "arm", "return_"]).to_pylist()
    levels: dict[str, set[float]] = {}
    for row in rows:
        if row["arm"] == "unhinted" and not math.isnan(row["return_"]):
            levels.setdefault(row["environment_id"], set()).add(round(row["return_"], 6))
    return _mean_of_known([len(own) for own in levels.values()]) if levels else math.nan


def _derived(metrics: Mapping[str, Points], formula: Callable[[Mapping[str, float]], float]) -> Points:
    cycles: dict[int, dict[str, float]] = {}
    for name, points in metrics.items():
        for cycle, value in points:
            cycles.setdefault(cycle, {})[name] = value
    found = []
    for cycle, values in sorted(cycles.items()):
        try:
            found.append((cycle + 1, formula(values)))
        except KeyError:  # a cycle without designs, or without that arm
            continue
    return found


def _held_out(evaluations: Sequence[Mapping[str, Any]]) -> dict[str, Points]:
    names = ("win_rate", "hinted_win_rate", "return")
    found: dict[str, list[tuple[int, float]]] = {}
    for line in sorted(evaluations, key=lambda one: int(one["updates"])):
        for name in names:
            if line.get(name) is not None:
                found.setdefault(HELD_OUT + name, []).append((int(line["updates"]), float(line[name])))
    return dict(found)


def _clock(metrics: Mapping[str, Points], before: float) -> list[float]:
    collect, update = (dict(metrics.get(f"time/{name}_s", ())) for name in ("collect", "update"))
    clock = [0.0]
    for cycle in sorted(collect):
        start = before if len(clock) == 1 else clock[-1]
        clock.append(start + collect[cycle] + update.get(cycle, 0.0))
    return clock


def _pool_seconds(study: Study, folder: StudyFolder, arm: str, seed: int) -> float:
    """The seconds that the arm's pool took to design: the agent could not begin before."""
    pool = arm_pool(study, folder, arm, seed)
    mark = pool.with_suffix(".json") if pool else None
    return float(json.loads(mark.read_text("utf-8"))["seconds"]) if mark and mark.exists() else 0.0


def _mean_of_known(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return math.fsum(known) / len(known) if known else math.nan
