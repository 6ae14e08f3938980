"""The figures of a study: each measure by updates, by time, and seed by seed. Needs matplotlib (extra ``study``)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from spadework.errors import ConfigError
from spadework.intervals import mean_interval
from spadework.study.results import Reading, Results
from spadework.study.series import RunSeries, measure_range
from spadework.study.spec import Measure

INK = "#333333"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#8c6d31")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), "-", "--")
SIZE, COLUMNS = (4.6, 3.1), 2
"""Inches of a panel (width, height), and panels side by side."""
FORMATS = ("png", "svg")

Curve = list[tuple[float, float, float, float]]
"""Points of (x, mean over seeds, low end of its interval, high end)."""


def draw(results: Results, folder: Path) -> list[str]:
    """Write the figures as PNG and SVG; returns their stems. Raises ``ConfigError`` without matplotlib."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise ConfigError("drawing curves needs matplotlib: pip install 'spadework[study]'") from None
    plots: dict[str, tuple[str, Callable[[Any, Results, str], None]]] = {
        "by-updates": ("cycles", _by_updates),
        "by-time": ("minutes of training", _by_time),
        "by-seed": ("", _by_seed),
    }
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "spadework", "font.size": 9}):
        for stem, (label, panel) in plots.items():
            figure = _figure(results, label, panel, legend=stem != "by-seed")
            for suffix in FORMATS:
                figure.savefig(folder / f"{stem}.{suffix}", dpi=130, metadata={"Date": None} if suffix == "svg" else {})
    return list(plots)


def curve(runs: Sequence[RunSeries], measure: Measure) -> Curve:
    """The measure as it stood after each of its updates: mean over all runs, and its 95 % interval."""
    places = sorted({at for run in runs for at, _ in run.series.get(measure.series, ())})
    return _means(measure, [(float(at), [run.value(measure, at) for run in runs]) for at in places])


def clock_curve(runs: Sequence[RunSeries], measure: Measure) -> Curve:
    """The measure against minutes of training, up to the time at which the first run ended."""
    ends = sorted({passed for run in runs for passed in run.clock})
    limit = min((run.clock[-1] for run in runs), default=0.0)
    reached = [end for end in ends if end <= limit]
    return _means(measure, [(end / 60, [run.value(measure, run.within(end)) for run in runs]) for end in reached])


def _means(measure: Measure, points: Sequence[tuple[float, Sequence[float]]]) -> Curve:
    """The points at which every run has a value."""
    whole = [(x, values) for x, values in points if values and not any(math.isnan(value) for value in values)]
    bounds = measure_range(measure, [value for _, values in whole for value in values])
    found: Curve = []
    for x, values in whole:
        seen = mean_interval(values, *bounds)
        found.append((x, seen.mean, seen.low, seen.high))
    return found


def _figure(results: Results, label: str, panel: Callable[[Any, Results, str], None], legend: bool) -> Any:
    from matplotlib.figure import Figure

    names = list(results.study.measures)
    columns = min(COLUMNS, len(names))
    rows = math.ceil(len(names) / columns)
    figure = Figure(figsize=(SIZE[0] * columns, SIZE[1] * rows + 0.5), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).flat
    for axis, name in zip(axes, names, strict=False):
        panel(axis, results, name)
        axis.set_title(results.study.measures[name].label, fontsize=10, loc="left", color=INK)
        if label == "cycles":
            axis.xaxis.get_major_locator().set_params(integer=True)
        axis.set_xlabel(label)
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    for axis in list(axes)[len(names) :]:
        axis.set_visible(False)
    for axis in figure.axes[len(names) :]:
        axis.set_visible(False)
    if legend:
        handles, labels = figure.axes[0].get_legend_handles_labels()
        for axis in figure.axes[1:]:
            for handle, text in zip(*axis.get_legend_handles_labels(), strict=True):
                if text not in labels:
                    handles.append(handle)
                    labels.append(text)
        figure.legend(handles, labels, loc="outside lower center", ncols=min(4, max(1, len(labels))), frameon=False)
    return figure


def _by_updates(axis: Any, results: Results, name: str) -> None:
    _lines(axis, results, lambda runs: curve(runs, results.study.measures[name]), "default")


def _by_time(axis: Any, results: Results, name: str) -> None:
    _lines(axis, results, lambda runs: clock_curve(runs, results.study.measures[name]), "steps-post")
    if not math.isnan(results.time.limit):
        axis.axvline(results.time.limit / 60, color=INK, lw=0.8, ls=":")


def _lines(axis: Any, results: Results, read: Callable[[Sequence[RunSeries]], Curve], style: str) -> None:
    drawn: list[float] = []
    for place, arm in enumerate(results.study.arms):
        runs = [run for (name, _), run in results.runs.items() if name == arm and run.done]
        points = read(runs)
        if not points:
            continue
        x, mean, low, high = zip(*points, strict=True)
        drawn += mean
        colour, dash = COLOURS[place % len(COLOURS)], DASHES[place % len(DASHES)]
        marker = "o" if len(x) < 8 else None
        look = {"ls": dash, "lw": 1.6, "marker": marker, "ms": 3.5, "drawstyle": style, "color": colour}
        axis.plot(x, mean, label=results.study.label(arm), **look)
        if len(runs) > 1:
            step = "post" if style == "steps-post" else None
            axis.fill_between(x, low, high, color=colour, alpha=0.13, lw=0, step=step)
            span = max(mean) - min(mean)
            drawn += [max(end, min(mean) - span) for end in low if not math.isnan(end)]
            drawn += [min(end, max(mean) + span) for end in high if not math.isnan(end)]
    if drawn:  # intervals of two or three seeds would hide everything else
        margin = 0.06 * (max(drawn) - min(drawn)) or 0.1
        axis.set_ylim(min(drawn) - margin, max(drawn) + margin)


def _by_seed(axis: Any, results: Results, name: str) -> None:
    """Each run's value at equal updates; the mean over seeds with its interval."""
    reading: Reading = results.updates
    arms = list(results.study.arms)
    for place, arm in enumerate(arms):
        colour = COLOURS[place % len(COLOURS)]
        known = [value for value in reading.values[name][arm] if not math.isnan(value)]
        axis.plot(known, [place - 0.16] * len(known), "o", ms=4, mfc="none", color=colour)
        seen = reading.interval(name, arm)
        if not math.isnan(seen.low):
            axis.plot([seen.low, seen.high], [place + 0.12] * 2, lw=1.6, color=colour)
        if known:
            axis.plot([seen.mean], [place + 0.12], "D", ms=4.5, color=colour)
    axis.set_yticks(range(len(arms)), [results.study.label(arm) for arm in arms])
    axis.set_ylim(len(arms) - 0.5, -0.5)
