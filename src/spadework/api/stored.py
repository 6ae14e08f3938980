"""A run directory as Python objects and tables, also while it is being written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from spadework.analysis import tables
from spadework.analysis.environments import design_rows
from spadework.analysis.episodes import episode_table
from spadework.config import RunConfig
from spadework.errors import ConfigError, RunError
from spadework.runs.reading import cycle_episodes, read_designs, read_environments
from spadework.runs.store import RunStore
from spadework.runs.tables import read_sequences
from spadework.types import Design, Environment, Episode, TrainingRow

Metrics = Mapping[str, Sequence[tuple[int, float]]]
"""Name -> (cycle, value) of each cycle that measured it."""


class StoredRun:
    """One run directory. Every call reads what is on disk now, so a run that still trains can be watched.

    Args:
        path: the run directory.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"StoredRun({str(self.path)!r})"

    @property
    def config(self) -> RunConfig:
        """What the run was set to."""
        with self._store() as store:
            return store.config

    @property
    def metrics(self) -> Metrics:
        """Every metric (docs/metrics.md), by name: pairs of cycle, counted from 0, and value."""
        with self._store() as store:
            return store.metrics()

    @property
    def checkpoints(self) -> dict[int, Path]:
        """The folder of each checkpoint that was kept, by cycle."""
        with self._store() as store:
            return store.checkpoints()

    def environments(self) -> list[Environment]:
        """Every environment that entered the pool, by cycle."""
        with self._store() as store:
            return read_environments(store)

    def designs(self) -> list[Design]:
        """Every attempt at a design, accepted or not, by cycle; without its tokens, which are in ``rows``."""
        with self._store() as store:
            return read_designs(store)

    def episodes(self, cycle: int | None = None) -> Iterator[Episode]:
        """Every episode, or those of one cycle, with one cycle in memory at a time.

        Raises:
            RunError: the run has no such cycle.
        """
        with self._store() as store:
            for _, episodes in cycle_episodes(store, cycle):
                yield from episodes

    def rows(self, cycle: int) -> list[TrainingRow]:
        """What the model was trained on in one cycle.

        Raises:
            RunError: the run has no such cycle.
        """
        with self._store() as store:
            files = {int(path.stem): path for path in store.sequence_files()}
        if cycle not in files:
            raise RunError(f"{self.path} holds no cycle {cycle}; it has {len(files)}, counted from 0")
        return read_sequences(files[cycle])

    def table(self, name: str) -> pa.Table:
        """One of the run's tables as Arrow.

        Args:
            name: ``metrics`` (a row a cycle), ``environments`` (a row an environment, with win rates and regret),
                ``episodes`` (a row an episode, with its return and lengths), ``designs`` (a row an attempt),
                ``plays`` (a row an environment, cycle and arm), ``regrets`` (a row an environment and cycle) or
                ``scores`` (a row a design, with its reward and advantage).

        Raises:
            ConfigError: there is no such table.
        """
        if name == "environments":
            return tables.read_run(self.path).environments
        if name not in _TABLES:
            raise ConfigError(f"a run has no table {name!r}; it has environments, {', '.join(_TABLES)}")
        with self._store() as store:
            return _TABLES[name](store)

    def frame(self, name: str) -> Any:
        """``table(name)`` as a ``pandas.DataFrame``.

        Raises:
            ConfigError: there is no such table, or pandas is not installed.
        """
        table = self.table(name)
        try:
            return table.to_pandas()
        except ImportError:
            raise ConfigError("frame() needs pandas: pip install pandas; or use table(), which needs nothing") from None

    @contextmanager
    def _store(self) -> Iterator[RunStore]:
        store = RunStore.read(self.path)
        try:
            yield store
        finally:
            store.close()


def open_run(path: str | Path) -> StoredRun:
    """Open a run directory to read it, also one that is being written.

    Raises:
        RunError: the folder holds no run.

    Example:
        run = spadework.open_run("runs/first")
        print(run.config.model.name, run.table("environments").num_rows)
    """
    run = StoredRun(Path(path))
    with run._store():
        return run


def _metrics(store: RunStore) -> pa.Table:
    """One row a cycle, a column a metric; null where a cycle did not measure it."""
    measured = store.metrics()
    cycles = sorted({cycle for values in measured.values() for cycle, _ in values})
    columns: dict[str, Any] = {"cycle": pa.array(cycles, pa.int64())}
    for name, values in measured.items():
        by_cycle = dict(values)
        columns[name] = pa.array([by_cycle.get(cycle) for cycle in cycles], pa.float64())
    return pa.table(columns)


def _rows(name: str) -> Callable[[RunStore], pa.Table]:
    return lambda store: pa.Table.from_pylist(store.rows(name))


_TABLES: dict[str, Callable[[RunStore], pa.Table]] = {
    "metrics": _metrics,
    "episodes": episode_table,
    "designs": lambda store: pa.Table.from_pylist(design_rows(store)),
    "plays": _rows("plays"),
    "regrets": _rows("regrets"),
    "scores": _rows("scores"),
}
