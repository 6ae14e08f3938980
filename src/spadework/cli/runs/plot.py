"""``spadework plot``: the paper's figures for one's own runs, as PNG and SVG, and the numbers in them as CSV."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pcsv

from spadework.analysis import figures
from spadework.analysis.batches import diversity_by_batch, ways
from spadework.analysis.drawing import draw
from spadework.analysis.tables import Run, measures, read_run
from spadework.errors import ConfigError
from spadework.evals.selection import gain_over_start, read_curve
from spadework.policies.embedding import MINILM, minilm_is_installed
from spadework.runs.files import write_whole

FIGURES = {
    "learnable": ("What can be learned from", figures.learnable),
    "rewards": ("Reward levels", figures.rewards),
    "formulas": ("Formulas in openings", figures.formulas),
    "actions": ("Actions", figures.actions),
    "skills": ("Win rates by skill", figures.skills),
    "first-turns": ("First turn against later turns", figures.first_turns),
}
"""File name -> title and the function that makes its panels; ``OTHERS`` need more than the runs' tables."""
OTHERS = ("diversity", "gains", "ablation", "trajectory")
NO_EMBEDDER = "none"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run directories; several share the figures")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where to write (default: RUN/figures of the first)")
    parser.add_argument("--only", nargs="+", choices=[*OTHERS, *FIGURES], metavar="FIGURE", help="leave out others")
    parser.add_argument(
        "--embedder",
        metavar="NAME",
        help="sentence model for the diversity: minilm, a folder or a hub name; none for TF-IDF alone "
        "(default: minilm where it is installed)",
    )


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    runs = [read_run(path) for path in args.runs]
    out = args.out or args.runs[0] / "figures"
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"--out {out}: {error.strerror}; give another folder") from error
    wanted = args.only or [*OTHERS, *FIGURES]
    for name in wanted:
        if name == "diversity":
            tables = _diversity(args.runs, args.embedder)
            print(_write(out / "diversity.csv", _joined(runs, tables)))
            title, panels = "Diversity of the designer's programs", figures.diversity(runs, tables)
        elif name == "gains":
            title, panels = "Gain by model", figures.gains(runs, [gain_over_start(path) for path in args.runs])
        elif name == "ablation":
            title, panels = "Runs compared", figures.ablation(runs, _checkpoints(args.runs))
        elif name == "trajectory":
            title, panels = "Training and benchmarks", figures.trajectory(runs, _checkpoints(args.runs))
        else:
            title, panels = FIGURES[name][0], FIGURES[name][1](runs)
        if not panels or not any(line.points for panel in panels for line in panel.lines):
            print(f"{name}: nothing to draw")
            continue
        draw(panels, out / name, title if len(runs) > 1 else f"{title} · {runs[0].name}")
        print(f"{out / name}.png, .svg")
    for keys in (("cycle",), ("skill",), ("cycle", "skill")):
        print(_write(out / f"by-{'-'.join(keys)}.csv", _joined(runs, [measures(run, *keys) for run in runs])))
    return 0


def _checkpoints(paths: Sequence[Path]) -> list[figures.Checkpoints]:
    curves = [read_curve(path) for path in paths]
    return [
        [(point.cycle, {name: point.columns[name] for name in curve.shared}) for point in curve.points]
        for curve in curves
    ]


def _diversity(paths: Sequence[Path], embedder: str | None) -> list[pa.Table]:
    if embedder is None:
        embedder = MINILM if minilm_is_installed() else NO_EMBEDDER
    how = ways("" if embedder == NO_EMBEDDER else embedder)
    return [diversity_by_batch(path, how) for path in paths]


def _joined(runs: Sequence[Run], tables: Sequence[pa.Table]) -> pa.Table:
    """One table after the other, with the run's name in front."""
    named = [
        table.add_column(0, "run", pa.array([run.name] * len(table), pa.string()))
        for run, table in zip(runs, tables, strict=True)
    ]
    return pa.concat_tables(named)


def _write(path: Path, table: pa.Table) -> Path:
    try:
        write_whole(path, lambda target: pcsv.write_csv(table, target))
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from error
    return path
