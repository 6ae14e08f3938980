"""Where metrics go besides the run's database: one sink a tracker."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol


class Sink(Protocol):
    """A place for metrics."""

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Write one cycle's metrics."""
        ...

    def close(self) -> None:
        """Flush and let go."""
        ...


class JsonlSink:
    """One JSON object a cycle in ``metrics.jsonl``; rows of cycles from ``first_step`` on are dropped on opening."""

    def __init__(self, path: Path, first_step: int = 0) -> None:
        kept = [line for line in path.read_text().splitlines() if _step(line) < first_step] if path.exists() else []
        path.write_text("".join(f"{line}\n" for line in kept))
        self._file = path.open("a")

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Append a line."""
        self._file.write(json.dumps({"cycle": step, **metrics}) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class TensorBoardSink:
    """TensorBoard event files. Raises ``ImportError`` without the package."""

    def __init__(self, folder: Path) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        folder.mkdir(parents=True, exist_ok=True)
        self._event, self._summary, self._writer = Event, Summary, EventFileWriter(str(folder))

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Write one scalar a metric."""
        values = [self._summary.Value(tag=name, simple_value=value) for name, value in metrics.items()]
        self._writer.add_event(self._event(step=step, summary=self._summary(value=values)))
        self._writer.flush()

    def close(self) -> None:
        """Close the event file."""
        self._writer.close()


def _step(line: str) -> float:
    try:
        return float(json.loads(line)["cycle"])
    except (ValueError, KeyError, TypeError):
        return float("inf")
