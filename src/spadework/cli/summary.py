"""What stands on the screen when a run ends: first against last cycles, and where the picture lies."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from spadework.analysis.curves import plot_run
from spadework.errors import ConfigError
from spadework.runs.store import RunStore

ROWS = {
    "agent/anchor_return": "mean return on the anchors, unhinted",
    "agent/unhinted_win_rate": "win rate, unhinted",
    "agent/hinted_win_rate": "win rate, hinted",
    "agent/designed_win_rate": "win rate on designed environments, unhinted",
    "agent/fixed_win_rate": "win rate on those of the fixed pool, unhinted",
    "designer/regret": "regret (hinted - unhinted)",
    "designer/ran_share": "designs that ran",
    "designer/valid_share": "designs accepted",
    "pool/learnable_share": "learnable environments (win rate 0.2 to 0.8)",
}


def print_summary(store: RunStore, console: Console) -> None:
    """The table, and ``curves.png`` in the run directory."""
    series = store.metrics()
    cycles = max((len(points) for points in series.values()), default=0)
    n = max(1, min(3, cycles // 2))
    table = Table(title=f"first {n} against last {n} of {cycles} cycles", title_justify="left")
    table.add_column("measure")
    table.add_column("first", justify="right")
    table.add_column("last", justify="right")
    for name, label in ROWS.items():
        points = [value for _, value in series.get(name, ())]
        if points:
            table.add_row(label, f"{_mean(points[:n]):.2f}", f"{_mean(points[-n:]):.2f}")
    console.print(table)
    written = len([row for row in store.rows("environments") if row["design_id"]])
    paid = len(store.rows("scores"))
    console.print(f"{written} environments of the model's own were played in both arms; {paid} designs were paid")
    picture = store.path / "curves.png"
    try:
        plot_run(series, picture, store.path.name)
        console.print(f"curves: {picture}", highlight=False, soft_wrap=True)
    except ConfigError as error:
        console.print(str(error), markup=False)
    except OSError as error:  # the run is whole without its picture
        picture.unlink(missing_ok=True)
        console.print(f"curves: {picture} cannot be written: {error.strerror}", markup=False, soft_wrap=True)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
