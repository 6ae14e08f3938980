"""Train the scripted model for three cycles, and watch the run with an observer of your own."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import spadework


class WinRates(spadework.NullObserver):
    """Prints the win rate of each cycle as soon as the cycle is committed."""

    def cycle_done(self, cycle: int, metrics: Mapping[str, float]) -> None:
        print(f"cycle {cycle + 1}: unhinted win rate {metrics['agent/unhinted_win_rate']:.2f}")


def main() -> None:
    """Train, and say where the rows are that the model was trained on."""
    with tempfile.TemporaryDirectory() as folder:
        config = spadework.read_config("scripted", {"run.cycles": 3})
        run = spadework.train(config, Path(folder) / "run", observer=WinRates())
        print(f"the last cycle trained on {len(run.rows(cycle=2))} rows")


if __name__ == "__main__":
    main()
