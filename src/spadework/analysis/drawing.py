"""Panels of lines or points as PNG and SVG, in colours that colour-blind people tell apart. Needs matplotlib."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spadework.errors import ConfigError

INK = "#333333"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#8c6d31", "#7a5195", "#333333")
"""After Okabe and Ito; dashes and markers say the same again, for prints without colour."""
DASHES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
WIDTH, HEIGHT, COLUMNS = 4.6, 3.1, 3
"""Inches of a panel, and panels side by side."""
FORMATS = ("png", "svg")
SMOOTHED, SPAN = 20, 5
"""Of ``SMOOTHED`` points or more, the dots are drawn and a line through their exponential mean, over a tenth of the
points and at least ``SPAN`` of them. The mean alone would draw a sudden fall as a slow decay."""


@dataclass(frozen=True)
class Line:
    """Points of one label; ``colour`` and ``dash`` are places in the lists above. NaN is left out.

    An empty label stands in no legend: the panel's title says it all.
    """

    label: str
    points: Sequence[tuple[float, float]]
    colour: int = 0
    dash: int = 0


@dataclass(frozen=True)
class Panel:
    """Axes with their lines.

    ``scatter`` draws points alone, and the diagonal through them; ``path`` joins points in the order in which they
    come; ``bars`` draws a bar for each point, those of one tick side by side.
    """

    title: str
    x: str
    lines: Sequence[Line]
    y: str = ""
    share: bool = False
    """y runs from 0 to 1."""
    scatter: bool = False
    path: bool = False
    bars: bool = False
    ticks: Sequence[str] = ()
    """Names of x = 0, 1, … in place of numbers."""


def draw(panels: Sequence[Panel], stem: Path, title: str) -> None:
    """Write ``stem`` + .png and .svg. Raises ``ConfigError`` without matplotlib."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        raise ConfigError("drawing figures needs matplotlib: pip install 'spadework[local]'") from None
    columns = min(COLUMNS, len(panels))
    rows = math.ceil(len(panels) / columns)
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "spadework", "font.size": 9}):
        figure = Figure(figsize=(WIDTH * columns, HEIGHT * rows + 0.5), layout="constrained")
        alike = len({panel.x for panel in panels}) == 1
        axes = list(figure.subplots(rows, columns, squeeze=False, sharex=alike).flat)
        for axis, panel in zip(axes, panels, strict=False):
            _panel(axis, panel)
            axis.tick_params(labelbottom=True)
        for axis in axes[len(panels) :]:
            axis.set_visible(False)
        figure.suptitle(title, fontsize=11, color=INK)
        for suffix in FORMATS:
            metadata = {"Date": None} if suffix == "svg" else {}
            figure.savefig(stem.with_suffix(f".{suffix}"), dpi=130, metadata=metadata)


def smoothed(values: Sequence[float], span: float) -> list[float]:
    """Exponential mean with weight 2 / (span + 1) on the newest, without the pull of its start."""
    weight, total, mass, found = 2 / (span + 1), 0.0, 0.0, []
    for value in values:
        total, mass = total * (1 - weight) + value * weight, mass * (1 - weight) + weight
        found.append(total / mass)
    return found


def _panel(axis: Any, panel: Panel) -> None:
    for place, line in enumerate(panel.lines):
        points = [(x, y) for x, y in line.points if not (math.isnan(x) or math.isnan(y))]
        if points:
            _points(axis, panel, line, points, (place, len(panel.lines)))
    axis.set_title(panel.title, fontsize=10, loc="left", color=INK)
    axis.set_xlabel(panel.x)
    axis.set_ylabel(panel.y)
    axis.grid(alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)
    if panel.share:
        axis.set_ylim(-0.03, 1.03)
    if panel.ticks:
        axis.set_xticks(range(len(panel.ticks)), panel.ticks)
        axis.set_xlim(-0.5, len(panel.ticks) - 0.5)
        axis.axhline(0, color=INK, lw=0.8)
    elif panel.scatter:
        _diagonal(axis)
    elif not panel.path:
        axis.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
        if not panel.share and axis.get_ylim()[0] > 0:
            axis.set_ylim(bottom=0)
    if any(axis.get_legend_handles_labels()[1]):
        axis.legend(fontsize=7.5, frameon=False, loc="best")
    if not axis.has_data():
        axis.text(0.5, 0.5, "nothing measured", transform=axis.transAxes, ha="center", color=INK)


def _points(axis: Any, panel: Panel, line: Line, points: Sequence[tuple[float, float]], turn: tuple[int, int]) -> None:
    if panel.bars:
        _bars(axis, line, points, turn)
    elif panel.path:
        _path(axis, line, points)
    elif panel.scatter or panel.ticks:
        _scatter(axis, line, points)
    else:
        _line(axis, line, points)


def _line(axis: Any, line: Line, points: Sequence[tuple[float, float]]) -> None:
    x, y = [point[0] for point in points], [point[1] for point in points]
    look = {"color": COLOURS[line.colour % len(COLOURS)], "ls": DASHES[line.dash % len(DASHES)]}
    if len(points) >= SMOOTHED:
        axis.plot(x, y, ls="none", marker=".", ms=3.5, alpha=0.45, color=look["color"])
        axis.plot(x, smoothed(y, max(SPAN, len(y) / 10)), lw=1.8, label=line.label, **look)
    else:
        marker = MARKERS[line.colour % len(MARKERS)]
        axis.plot(x, y, lw=1.6, marker=marker, ms=3.5, label=line.label, **look)


def _scatter(axis: Any, line: Line, points: Sequence[tuple[float, float]]) -> None:
    look = {"color": COLOURS[line.colour % len(COLOURS)], "marker": MARKERS[line.colour % len(MARKERS)]}
    fill = {} if line.dash == 0 else {"mfc": "none"}
    axis.plot(*zip(*points, strict=True), ls="none", ms=5, alpha=0.7, label=line.label, **look, **fill)


def _path(axis: Any, line: Line, points: Sequence[tuple[float, float]]) -> None:
    """A line from the first point, which is hollow, to the last."""
    look = {"color": COLOURS[line.colour % len(COLOURS)], "marker": MARKERS[line.colour % len(MARKERS)]}
    axis.plot(*zip(*points, strict=True), lw=1.4, ms=5, label=line.label, ls=DASHES[line.dash % len(DASHES)], **look)
    axis.plot(*points[0], ms=8, mfc="white", **look)


def _bars(axis: Any, line: Line, points: Sequence[tuple[float, float]], turn: tuple[int, int]) -> None:
    """The bars of one label; ``turn`` is its place among the labels, and how many there are."""
    place, count = turn
    width = 0.8 / count
    at = [x + (place - (count - 1) / 2) * width for x, _ in points]
    axis.bar(at, [y for _, y in points], width, label=line.label, color=COLOURS[line.colour % len(COLOURS)])


def _diagonal(axis: Any) -> None:
    """Equal axes from 0, and the line where both are the same."""
    most = max(axis.get_xlim()[1], axis.get_ylim()[1])
    axis.plot([0, most], [0, most], color=INK, lw=0.8, ls=":")
    axis.set_xlim(0, most)
    axis.set_ylim(0, most)
