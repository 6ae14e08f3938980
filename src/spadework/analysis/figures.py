"""The paper's kinds of figures for any runs: each function makes the panels of one kind from the runs' tables.

A single run shows each measure in a colour. Several runs share the panels: each has a colour, and measures differ by
their dashes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import pyarrow as pa

from spadework.analysis.drawing import Line, Panel
from spadework.analysis.tables import Run, measures

Checkpoints = Sequence[tuple[int, Mapping[str, float]]]
"""The evaluated checkpoints of a run by cycle, each with its score in [0, 1] on every suite that all of them have."""
RATES = {"unhinted": "unhinted", "hinted": "hinted"}
LEVELS = {"reward_levels": "all", "partial_levels": "between 0 and a win"}
LATE = 3
"""A gain is the mean of a run's last measurements, as many as these at most, minus that of as many first ones."""


def learnable(runs: Sequence[Run]) -> list[Panel]:
    """Learnable share and win rates by cycle."""
    return [
        _by_cycle(runs, "Learnable share: win rate in [0.2, 0.8]", {"learnable": "learnable share"}, share=True),
        _by_cycle(runs, "Win rate", RATES, share=True),
    ]


def rewards(runs: Sequence[Run]) -> list[Panel]:
    """How many different returns an environment paid, by the cycle in which it entered."""
    return [_by_cycle(runs, "Reward levels of an environment", LEVELS, x="cycle of entry")]


def formulas(runs: Sequence[Run]) -> list[Panel]:
    """The share of environments whose opening prints a formula."""
    title = "Openings that print a formula"
    return [_by_cycle(runs, title, {"formula": "share of environments"}, x="cycle of entry", share=True)]


def actions(runs: Sequence[Run]) -> list[Panel]:
    """Lengths of actions, and turns of an episode."""
    return [
        _by_cycle(runs, "Length of an action", {"action": "action"}, y="characters"),
        _by_cycle(runs, "Turns of an episode", {"turns": "turns"}),
    ]


def skills(runs: Sequence[Run]) -> list[Panel]:
    """Win rates by cycle, a panel a skill."""
    tables = [measures(run, "cycle", "skill").to_pylist() for run in runs]
    names = sorted({row["skill"] for table in tables for row in table})
    panels = []
    for skill in names:
        own = [pa.Table.from_pylist([row for row in table if row["skill"] == skill] or [{}]) for table in tables]
        panels.append(Panel(skill, "cycle", _lines(runs, own, RATES), "win rate", share=True))
    return panels


def first_turns(runs: Sequence[Run]) -> list[Panel]:
    """The length of the first turn's reply against that of later ones.

    Each point is an environment, over its unhinted episodes of more than one turn. Above the diagonal the agent derives
    an answer first, below it the agent acts first.
    """
    lines = []
    for place, run in enumerate(runs):
        rows = [row for row in run.environments.to_pylist() if row["later_reply"] is not None]
        points = [(row["later_reply"], row["first_reply"]) for row in rows]
        lines.append(Line(run.name if len(runs) > 1 else "", points, place))
    title = "Derive first (above) or act on evidence (below)"
    lengths = {"first_reply": "first turn", "later_reply": "later turns"}
    return [
        Panel(title, "later turns, characters a turn", lines, "first turn, characters", scatter=True),
        _by_cycle(runs, "Length of a reply", lengths, y="characters"),
    ]


def diversity(runs: Sequence[Run], tables: Sequence[pa.Table]) -> list[Panel]:
    """Vendi score over n of the batches of ``analysis.batches``."""
    names = [name for name in (tables[0].column_names if tables else ()) if name not in ("cycle", "n")]
    sizes = sorted({n for table in tables for n in table["n"].to_pylist()})
    note = "Vendi score / n, batches of " + " or ".join(map(str, sizes)) if sizes else "Vendi score / n"
    return [Panel(note, "cycle", _lines(runs, tables, dict(zip(names, names, strict=True))), share=True)]


def gains(runs: Sequence[Run], over_start: Sequence[float] = ()) -> list[Panel]:
    """What each run gained, by the size of its model; ``over_start`` is ``evals.selection.gain_over_start`` of each."""
    values = {"Suites, best checkpoint minus start": list(over_start)}
    values |= {title: [gain(run.metrics.get(metric, ())) for run in runs] for metric, title in GAINS.items()}
    sizes = sorted({(model_size(run.model), run.model) for run in runs})
    places = {model: place for place, (_, model) in enumerate(sizes)}
    ticks = [f"{_short(size)}\n{_wrapped(model.rpartition('/')[2])}".strip() for size, model in sizes]
    names = [run.name if len(runs) > 1 else "" for run in runs]
    panels = []
    for title, found in values.items():
        if not all(math.isnan(value) for value in found):
            points = [(places[run.model], value) for run, value in zip(runs, found, strict=True)]
            lines = [Line(name, [point], n) for n, (name, point) in enumerate(zip(names, points, strict=True))]
            panels.append(Panel(title, "model", lines, ticks=ticks))
    return panels


def ablation(runs: Sequence[Run], evaluated: Sequence[Checkpoints]) -> list[Panel]:
    """Bars that compare runs (Figure 11 of the paper): the best checkpoint on each suite, and what each run learned."""
    panels = []
    suites = _shared_suites(evaluated)
    if suites:
        best = [max(checkpoints, key=lambda one: _average(one[1], suites))[1] for checkpoints in evaluated]
        points = [[_average(scores, suites), *(scores[name] for name in suites)] for scores in best]
        panels.append(_compared("Best checkpoint on the suites", runs, ["average", *suites], points))
    trained = [[_late(run.metrics.get(metric, ())) for metric in LEARNED] for run in runs]
    panels.append(_compared(f"Mean of the last {LATE} cycles", runs, list(LEARNED.values()), trained))
    return panels


LEARNED = {
    "agent/unhinted_return": "return",
    "agent/hinted_win_rate": "hinted",
    "pool/learnable_share": "learnable",
    "designer/valid_share": "accepted",
}
"""Metric -> the name of its bars."""


def trajectory(runs: Sequence[Run], evaluated: Sequence[Checkpoints]) -> list[Panel]:
    """The way of each run through training and benchmarks (Figure 12 of the paper), a point a checkpoint.

    Its return in training stands against its suite average; where no suite was evaluated, against its return on the
    anchors. Returns move a lot from cycle to cycle, so each is the mean of up to ``LATE`` cycles that end there.
    """
    lines, anchors = [], []
    for place, (run, checkpoints) in enumerate(zip(runs, evaluated, strict=True)):
        returns = run.metrics.get("agent/unhinted_return", ())
        label = run.name if len(runs) > 1 else ""
        points = [(_late(returns, cycle), _average(scores, list(scores))) for cycle, scores in checkpoints]
        lines.append(Line(label, points, place))
        held_out = run.metrics.get("agent/anchor_return", ())
        every = max(1, len(held_out) // STEPS)
        pairs = [(_late(returns, cycle), _late(held_out, cycle)) for cycle, _ in held_out[::every]]
        anchors.append(Line(label, pairs, place))
    x = "return in training"
    panels = [Panel("Suite average against training", x, lines, "suite average", path=True)]
    panels.append(Panel("Anchors against training", x, anchors, "return on the anchors", path=True))
    return [panel for panel in panels if any(line.points for line in panel.lines)]


STEPS = 20
"""Points of a path at most, about."""


def _shared_suites(evaluated: Sequence[Checkpoints]) -> list[str]:
    """The suites that every checkpoint of every run was evaluated on; none if a run has no checkpoint."""
    if not all(evaluated):
        return []
    found = [set(scores) for checkpoints in evaluated for _, scores in checkpoints]
    return sorted(set.intersection(*found)) if found else []


def _average(scores: Mapping[str, float], suites: Sequence[str]) -> float:
    return math.fsum(scores[name] for name in suites) / len(suites) if suites else math.nan


def _compared(title: str, runs: Sequence[Run], ticks: Sequence[str], rows: Sequence[Sequence[float]]) -> Panel:
    """A bar for each run at each tick."""
    names = [run.name if len(runs) > 1 else "" for run in runs]
    lines = [Line(name, list(enumerate(row)), place) for place, (name, row) in enumerate(zip(names, rows, strict=True))]
    return Panel(title, "", lines, bars=True, ticks=[_wrapped(tick.replace("/", "-")) for tick in ticks])


def _late(series: Sequence[tuple[int, float]], until: int | None = None) -> float:
    """The mean of the last values up to cycle ``until``, as many as ``LATE``; NaN without any."""
    values = [value for cycle, value in series if not math.isnan(value) and (until is None or cycle <= until)]
    return math.fsum(values[-LATE:]) / len(values[-LATE:]) if values else math.nan


GAINS = {
    "eval/average": "Suites, last minus first checkpoints",
    "agent/anchor_return": "Return on the anchors, last minus first",
    "agent/unhinted_win_rate": "Win rate in the (changing) pool, last minus first",
}


def gain(series: Sequence[tuple[int, float]]) -> float:
    """Mean of the last minus mean of the first values, up to ``LATE`` of each and never one in both; NaN below two."""
    values = [value for _, value in series if not math.isnan(value)]
    count = min(LATE, len(values) // 2)
    return (math.fsum(values[-count:]) - math.fsum(values[:count])) / count if count else math.nan


def model_size(name: str) -> float:
    """Parameters as the name tells them (``Qwen3-30B-A3B`` has 3·10¹⁰); infinite where it does not."""
    found = re.search(r"(?<![A-Za-z\d.])(\d+(?:\.\d+)?)([mMbB])(?![A-Za-z])", name)
    return float(found[1]) * {"m": 1e6, "b": 1e9}[found[2].lower()] if found else math.inf


def _short(size: float) -> str:
    if math.isinf(size):
        return ""
    return f"{size / 1e9:g}B" if size >= 1e9 else f"{size / 1e6:g}M"


def _wrapped(name: str, width: int = 14) -> str:
    """A model's name in lines that leave room for its neighbours."""
    lines = [""]
    for part in re.split(r"(?<=[-_])", name):
        if lines[-1] and len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _by_cycle(
    runs: Sequence[Run], title: str, names: Mapping[str, str], x: str = "cycle", y: str = "", share: bool = False
) -> Panel:
    return Panel(title, x, _lines(runs, [measures(run, "cycle") for run in runs], names), y, share)


def _lines(runs: Sequence[Run], tables: Sequence[pa.Table], names: Mapping[str, str]) -> list[Line]:
    """One line a run and measure; cycles count from 1, as on the screen."""
    lines = []
    for place, (run, table) in enumerate(zip(runs, tables, strict=True)):
        for dash, (name, label) in enumerate(names.items()):
            rows = table.to_pylist() if name in table.column_names else []
            points = [(row["cycle"] + 1, row[name]) for row in rows if row[name] is not None]
            several = len(runs) > 1
            words = [run.name] * several + [label] * (len(names) > 1)
            lines.append(Line(", ".join(words), points, place if several else dash, dash))
    return lines
