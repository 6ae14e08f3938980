"""The picture of a run: its curves in one PNG. Needs matplotlib (extra ``local``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spadework.errors import ConfigError

Series = Mapping[str, Sequence[tuple[int, float]]]

PANELS = (
    ("Return of the agent", {"agent/anchor_return": "anchors", "agent/unhinted_return": "all, unhinted"}),
    ("Win rate by arm", {"agent/unhinted_win_rate": "unhinted", "agent/hinted_win_rate": "hinted"}),
    ("Designs", {"designer/valid_share": "accepted", "designer/ran_share": "ran"}),
    ("Curriculum", {"pool/learnable_share": "learnable share", "designer/regret": "regret"}),
)
"""Title and metric -> label of each panel."""
FEW = 3
INK, COLOURS = "#333333", ("#1f6f8b", "#d1683c")


def plot_run(series: Series, target: Path, title: str = "", gaps: Sequence[Mapping[str, Any]] = ()) -> None:
    """Draw the curves of one run; ``gaps`` (``evals.gap.as_json``) take the place of the first panel.

    Raises ``ConfigError`` without matplotlib.
    """
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ImportError:
        raise ConfigError("drawing curves needs matplotlib: pip install 'spadework[local]'") from None
    figure = Figure(figsize=(10, 6), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True).flat
    for axis, (name, lines) in zip(axes, PANELS, strict=True):
        if gaps and (name, lines) == PANELS[0]:
            name = _draw_gaps(axis, gaps)
        else:
            for (metric, label), colour in zip(lines.items(), COLOURS, strict=True):
                points = series.get(metric, ())
                places, values = [cycle + 1 for cycle, _ in points], [value for _, value in points]
                axis.plot(places, values, "o-", ms=3, lw=1.5, color=colour, label=label)
        axis.set_title(name, fontsize=10, loc="left", color=INK)
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axis.legend(fontsize=8, frameon=False)
        if name == "Curriculum":
            axis.axhline(0, color=INK, lw=0.5)
        else:
            axis.set_ylim(-0.03, 1.03)
    cycles = [cycle for points in series.values() for cycle, _ in points]
    for axis in figure.axes[2:]:
        axis.set_xlabel("cycle")
        if cycles and max(cycles) < FEW:  # so few cycles leave no whole number inside the axis's own margin
            axis.set_xlim(0.5, max(cycles) + 1.5)
    figure.suptitle(title, fontsize=11, color=INK)
    figure.savefig(target, dpi=130)


def _draw_gaps(axis: Any, gaps: Sequence[Mapping[str, Any]]) -> str:
    """The arms of the first group of held-out games, with their intervals; returns the panel's title."""
    group = gaps[0]["group"]
    own = [gap for gap in gaps if gap["group"] == group]
    places = [gap["cycle"] + 1 for gap in own]
    for key, label, colour in (
        ("unhinted", "no hint", COLOURS[0]),
        ("hinted", "own hint", COLOURS[1]),
        ("placebo", "another's hint", "#999999"),
    ):
        arm = [gap[key] for gap in own]
        if not arm[0]["n"]:
            continue
        means = [value["mean"] for value in arm]
        reach = [[v["mean"] - v["low"] for v in arm], [v["high"] - v["mean"] for v in arm]]
        axis.errorbar(places, means, yerr=reach, fmt="o-", ms=4, lw=1.5, capsize=3, color=colour, label=label)
    return f"Held-out games won: {group}"
