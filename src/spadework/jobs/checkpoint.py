"""Find a checkpoint of a run by what a command line calls it: ``last``, ``best``, ``start`` or a cycle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from spadework.config import RunConfig
from spadework.config.files import override_config
from spadework.errors import ConfigError
from spadework.runs.store import RunStore

START = -1
"""Cycle number that stands for the model that a run started from, before its first cycle."""
WHICH = "of the run: last, best, start or a cycle"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint with the run's config. ``folder`` is ``None`` for ``START``."""

    config: RunConfig
    cycle: int
    folder: Path | None


def find_checkpoint(run: Path, which: str, overrides: Sequence[str] = ()) -> Checkpoint:
    """Find the checkpoint ``which`` (see ``WHICH``). Raises ``ConfigError`` if there is none, and errors of reading."""
    store = RunStore.read(run)
    try:
        config, folders = override_config(store.config, overrides), store.checkpoints()
        best = store.best("eval/average")
    finally:
        store.close()
    known = {"start": START, "last": max(folders, default=None), "best": next(iter(best), None)}
    cycle = known.get(which, int(which) - 1 if which.isdigit() else None)
    if cycle is None or (cycle != START and cycle not in folders):
        kept = ", ".join(str(one + 1) for one in folders) or "none"
        raise ConfigError(f"{run}: no checkpoint {which!r}; kept are those of the cycles {kept}")
    return Checkpoint(config, cycle, folders.get(cycle))
