"""Read a run directory: its config, its tables, its environments and its episodes."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import spadework


def show(run: spadework.StoredRun) -> None:
    """Print a few of the things that a run holds."""
    print(f"{run.path.name}: {run.config.run.cycles} cycles of {run.config.model.name}")
    for cycle, rate in run.metrics["agent/unhinted_win_rate"]:
        print(f"  cycle {cycle + 1}: unhinted win rate {rate:.2f}")
    for row in run.table("environments").select(["id", "skill", "unhinted", "regret"]).to_pylist():
        print(f"  {row['id']} ({row['skill']}): win rate {row['unhinted']}, regret {row['regret']}")
    wins = [episode for episode in run.episodes() if episode.win]
    print(f"  {len(wins)} episodes were won; the first is {wins[0].id if wins else 'none'}")


def main() -> None:
    """Show the run that the command line names, or make a small one to show."""
    if len(sys.argv) > 1:
        show(spadework.open_run(sys.argv[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        show(spadework.train({"extends": "scripted", "run": {"cycles": 2}}, Path(folder) / "small"))


if __name__ == "__main__":
    main()
