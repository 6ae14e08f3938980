"""What a person sees of a run: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Mapping

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from spadework.types import Fault

COLUMNS = {
    "agent/unhinted_win_rate": "win rate",
    "agent/hinted_win_rate": "hinted",
    "agent/anchor_return": "anchors",
    "designer/regret": "regret",
    "designer/valid_share": "valid",
    "pool/learnable_share": "learnable",
}
"""Metrics shown a cycle, and their short names."""


class Progress:
    """Watches a run (``Observer``)."""

    def __init__(self, console: Console, cycles: int) -> None:
        self.console, self.cycles = console, cycles
        self._cycle, self._stage, self._done, self._total = 0, "start", 0, 1
        self._tokens, self._began = 0, time.monotonic()
        self._started, self._first_cycle = time.monotonic(), -1
        self._history: list[tuple[int, dict[str, float]]] = []
        self._live = Live(console=console, get_renderable=self._render, refresh_per_second=4)

    def __enter__(self) -> Progress:
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.console.is_terminal:
            self._live.stop()

    def stage(self, cycle: int | None, name: str, total: int, done: int = 0) -> None:
        """A stage of ``total`` pieces begins."""
        cycle = self._cycle if cycle is None else cycle
        if self._first_cycle < 0:
            self._first_cycle, self._started = cycle, time.monotonic()
        self._cycle, self._stage, self._done, self._total = cycle, name, done, max(1, total)
        self._tokens, self._began = 0, time.monotonic()
        if not self.console.is_terminal:
            self.console.print(f"cycle {cycle + 1}/{self.cycles} {name} ({total})", highlight=False)

    def advance(self, tokens: int, score: float | None = None, fault: Fault | None = None) -> None:
        """One piece is done."""
        self._done += 1
        self._tokens += tokens

    def note(self, text: str) -> None:
        """A line that stays."""
        self.console.print(text, highlight=False, soft_wrap=True)

    def cycle_done(self, cycle: int, metrics: Mapping[str, float]) -> None:
        """A cycle is committed."""
        self._history.append((cycle, dict(metrics)))
        if not self.console.is_terminal:
            parts = [f"{short} {metrics[name]:.2f}" for name, short in COLUMNS.items() if name in metrics]
            seconds = metrics.get("time/collect_s", 0.0) + metrics.get("time/update_s", 0.0)
            line = f"cycle {cycle + 1}/{self.cycles} done in {seconds:.1f} s: {', '.join(parts)}; {self._eta()}"
            self.console.print(line, highlight=False, soft_wrap=True)

    def _eta(self) -> str:
        done = self._history[-1][0] + 1 - self._first_cycle if self._history else 0
        if not done:
            return "time left unknown"
        left = (time.monotonic() - self._started) / done * (self.cycles - self._history[-1][0] - 1)
        return f"{int(left // 60)} min {int(left % 60):02d} s left"

    def _render(self) -> RenderableType:
        table = Table(box=None, pad_edge=False)
        table.add_column("cycle", justify="right")
        for short in COLUMNS.values():
            table.add_column(short, justify="right")
        table.add_column("s", justify="right")
        for cycle, metrics in self._history[-12:]:
            cells = [f"{metrics[name]:.2f}" if name in metrics else "–" for name in COLUMNS]
            seconds = metrics.get("time/collect_s", 0.0) + metrics.get("time/update_s", 0.0)
            table.add_row(str(cycle + 1), *cells, f"{seconds:.0f}")
        rate = self._tokens / max(1e-3, time.monotonic() - self._began)
        head = f"cycle {self._cycle + 1}/{self.cycles} · {self._stage} {self._done}/{self._total} · "
        state = Text(f"{head}{rate:.0f} tokens/s · {self._eta()}")
        return Group(table, state, ProgressBar(total=self._total, completed=self._done, width=60))
