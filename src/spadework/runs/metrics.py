"""``Sink``, where metrics go besides the run's database, and the sinks that write files into the run directory.

Sinks for external trackers are in ``trackers``.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from spadework.runs.files import write_text, write_whole


class Sink(Protocol):
    """Receives each cycle's metrics."""

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Write one cycle's metrics."""
        ...

    def close(self) -> None:
        """Flush and close."""
        ...


class OptionalSink:
    """Wraps a sink so that its failure does not stop the run, whose database holds the metrics anyway.

    After the first failure the sink is no longer used, and one line says so.
    """

    def __init__(self, name: str, sink: Sink, note: Callable[[str], None]) -> None:
        self._name, self._note = name, note
        self._sink: Sink | None = sink

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Pass a cycle's metrics on."""
        self._try(lambda sink: sink.log(step, metrics))

    def close(self) -> None:
        """Close the sink."""
        self._try(lambda sink: sink.close())

    def _try(self, work: Callable[[Sink], None]) -> None:
        if self._sink is None:
            return
        try:
            work(self._sink)
        except Exception as error:  # noqa: BLE001 - a tracker may raise whatever its authors chose
            self._sink = None
            self._note(given_up(self._name, error))


def given_up(name: str, error: Exception) -> str:
    """The message that a sink failed and is no longer used."""
    reason = str(error).strip().partition("\n")[0]
    return f"{name}: given up for this process ({type(error).__name__}: {reason}); the run's database has its figures"


class JsonlSink:
    """Writes one JSON object per cycle to ``metrics.jsonl``.

    When it opens the file, it drops the lines of cycles from ``first_step`` on, which the run will repeat. It adds the
    lines of ``stored`` cycles (cycle -> metrics) that are missing, since a process may have been killed between storing
    a cycle and writing its line.
    """

    def __init__(
        self, path: Path, first_step: int = 0, stored: Mapping[int, Mapping[str, float]] | None = None
    ) -> None:
        lines = path.read_text("utf-8").split("\n") if path.exists() else []
        kept = {step: line for line in lines if line.strip() and (step := _step(line)) < first_step}
        for cycle, metrics in (stored or {}).items():
            kept.setdefault(cycle, _line(cycle, metrics))
        write_text(path, "".join(f"{kept[cycle]}\n" for cycle in sorted(kept)))
        self._file = path.open("a", encoding="utf-8")

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Append a line."""
        self._file.write(_line(step, metrics) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class CsvSink:
    """Writes ``metrics.csv`` with a row per cycle and a column per metric.

    Opening it drops the rows of cycles from ``first_step`` on. The whole file is rewritten at each cycle, atomically,
    because a metric may first appear late and then needs a new column.
    """

    def __init__(self, path: Path, first_step: int = 0) -> None:
        self._path, self._rows = path, list[Mapping[str, object]]()
        if path.exists():
            with path.open(newline="") as file:
                self._rows += [row for row in csv.DictReader(file) if _number(row.get("cycle")) < first_step]

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Add a row."""
        self._rows.append({"cycle": step, **metrics})
        write_whole(self._path, self._write)

    def close(self) -> None:
        """Nothing to close."""

    def _write(self, target: Path) -> None:
        with target.open("w", newline="") as file:
            writer = csv.DictWriter(file, dict.fromkeys(name for row in self._rows for name in row))
            writer.writeheader()
            writer.writerows(self._rows)


class TensorBoardSink:
    """Writes TensorBoard event files. Raises ``ImportError`` without the package.

    It tells TensorBoard to discard the events of cycles from ``first_step`` on, which a killed process has written.
    """

    def __init__(self, folder: Path, first_step: int = 0) -> None:
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        folder.mkdir(parents=True, exist_ok=True)
        self._event, self._summary, self._writer = Event, Summary, EventFileWriter(str(folder))
        self._writer.add_event(Event(step=first_step, session_log=SessionLog(status=SessionLog.START)))

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Write one scalar per metric."""
        values = [self._summary.Value(tag=name, simple_value=value) for name, value in metrics.items()]
        self._writer.add_event(self._event(step=step, summary=self._summary(value=values)))
        self._writer.flush()

    def close(self) -> None:
        """Close the event file."""
        self._writer.close()


def by_cycle(series: Mapping[str, Sequence[tuple[int, float]]]) -> dict[int, dict[str, float]]:
    """Cycle -> name -> value, from the (cycle, value) pairs of each name."""
    rows: dict[int, dict[str, float]] = {}
    for name, points in series.items():
        for cycle, value in points:
            rows.setdefault(cycle, {})[name] = value
    return rows


def _line(step: int, metrics: Mapping[str, float]) -> str:
    return json.dumps({"cycle": step, **metrics})


def _step(line: str) -> float:
    try:
        return float(json.loads(line)["cycle"])
    except (ValueError, KeyError, TypeError):
        return float("inf")


def _number(text: str | None) -> float:
    """The number of a cycle; infinite for a half-written row, so that it is dropped."""
    try:
        return float(text or "inf")
    except ValueError:
        return float("inf")
