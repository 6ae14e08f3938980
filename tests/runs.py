"""What two runs must agree on to be called the same."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spadework.runs.store import RunStore
from spadework.runs.tables import read_episodes, read_sequences


def cli(*args: str | Path, **kwargs: Any) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    command = [sys.executable, "-m", "spadework", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **{"timeout": 300, **kwargs})


def start_cli(*args: str | Path, **env: str) -> subprocess.Popen[str]:
    """Start it and let it run."""
    command = [sys.executable, "-m", "spadework", *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **env})


def story(path: Path) -> dict[str, Any]:
    """Everything of a run but its timings."""
    store = RunStore.read(path)
    try:
        tables = {name: store.rows(name) for name in ("environments", "designs", "scores", "plays")}
        metrics = {
            name: values
            for name, values in store.metrics().items()
            if not name.startswith("time/") and not name.endswith("_per_second")
        }
        episodes = [read_episodes(file) for file in store.episode_files()]
        sequences = [read_sequences(file) for file in store.sequence_files()]
    finally:
        store.close()
    return {**tables, "metrics": metrics, "episodes": repr(episodes), "sequences": sequences}


class Silent:
    """An observer that may stop the run where a kill would."""

    def __init__(self, stop: tuple[int, str] | None = None) -> None:
        self.stop = stop

    def stage(self, cycle: int, name: str, total: int) -> None:
        if (cycle, name) == self.stop:
            raise KeyboardInterrupt

    def advance(self, tokens: int) -> None: ...

    def note(self, text: str) -> None: ...

    def cycle_done(self, cycle: int, metrics: Mapping[str, float]) -> None: ...
