"""The picture of a run: its curves in one PNG. Needs matplotlib (extra ``local``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from spadework.errors import ConfigError

Series = Mapping[str, Sequence[tuple[int, float]]]

PANELS = (
    ("Return of the agent", {"agent/anchor_return": "anchors", "agent/unhinted_return": "all, unhinted"}),
    ("Win rate by arm", {"agent/unhinted_win_rate": "unhinted", "agent/hinted_win_rate": "hinted"}),
    ("Designs", {"designer/valid_share": "accepted", "designer/ran_share": "ran"}),
    ("Curriculum", {"pool/learnable_share": "learnable share", "designer/regret": "regret"}),
)
"""Title and metric -> label of each panel."""
INK, COLOURS = "#333333", ("#1f6f8b", "#d1683c")


def plot_run(series: Series, target: Path, title: str = "") -> None:
    """Draw the curves of one run. Raises ``ConfigError`` without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ConfigError("drawing curves needs matplotlib: pip install 'spadework[local]'") from None
    figure = Figure(figsize=(10, 6), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True).flat
    for axis, (name, lines) in zip(axes, PANELS, strict=True):
        for (metric, label), colour in zip(lines.items(), COLOURS, strict=True):
            points = series.get(metric, ())
            axis.plot([c + 1 for c, _ in points], [v for _, v in points], "o-", ms=3, lw=1.5, color=colour, label=label)
        axis.set_title(name, fontsize=10, loc="left", color=INK)
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(fontsize=8, frameon=False)
        if name == "Curriculum":
            axis.axhline(0, color=INK, lw=0.5)
        else:
            axis.set_ylim(-0.03, 1.03)
    for axis in figure.axes[2:]:
        axis.set_xlabel("cycle")
    figure.suptitle(title, fontsize=11, color=INK)
    figure.savefig(target, dpi=130)
