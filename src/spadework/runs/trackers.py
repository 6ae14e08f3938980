"""Sinks for external trackers: Weights & Biases, MLflow, Trackio. Each is imported only when a config names it.

``RUN/tracker-id`` holds the name of the run at the trackers, so that a resumed run continues there as the same run.
Cycles that a killed process had logged beyond its last checkpoint are logged again, and the later value counts.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from spadework.config import RunConfig
from spadework.config.differences import flat_settings
from spadework.config.files import dump_config
from spadework.errors import ConfigError
from spadework.runs.files import write_whole
from spadework.runs.metrics import CsvSink, OptionalSink, Sink, TensorBoardSink, given_up

ID_FILE = "tracker-id"
RUN_TAG = "spadework.run"
"""MLflow tag by which a resumed run is found."""
MLFLOW_BATCH = 100
"""The most parameters that MLflow accepts in one request."""


def open_trackers(config: RunConfig, run: Path, first_cycle: int, note: Callable[[str], None] = print) -> list[Sink]:
    """Open the sinks of ``track.to``. One that fails later, or through no fault of the config, is dropped with a note.

    Raises ``ConfigError`` for a tracker that is not installed or whose service does not start.
    """
    makers: dict[str, tuple[str, Callable[[], Sink]]] = {
        "tensorboard": ("local", lambda: TensorBoardSink(run / "tensorboard", first_cycle)),
        "csv": ("", lambda: CsvSink(run / "metrics.csv", first_cycle)),
        "wandb": ("trackers", lambda: WandbSink(config, run)),
        "mlflow": ("trackers", lambda: MlflowSink(config, run)),
        "trackio": ("trackio", lambda: TrackioSink(config, run)),
    }
    wanted = config.track.to
    sinks: list[Sink] = []
    for name in ("tensorboard",) if wanted is None else wanted:
        extra, make = makers[name]
        try:
            sinks.append(OptionalSink(name, make(), note))
        except ImportError as error:
            if wanted is not None:
                lacks = f"track.to: {name} needs a package ({error})"
                raise ConfigError(f"{lacks}: pip install 'spadework[{extra}]', or take it out") from None
        except ConfigError:
            raise
        except Exception as error:  # noqa: BLE001 - a tracker may raise whatever its authors chose
            note(given_up(name, error))
    return sinks


class WandbSink:
    """Logs to Weights & Biases, configured by its own variables such as ``WANDB_MODE``; the x axis is ``cycle``."""

    def __init__(self, config: RunConfig, run: Path) -> None:
        import wandb

        try:
            self._run: Any = wandb.init(
                project=config.track.project,
                name=run.resolve().name,
                id=tracker_id(run),
                resume="allow",
                dir=str(run),
                config=dump_config(config),
                # Otherwise wandb would log every redraw of the progress display as a line.
                settings=wandb.Settings(console="off"),
            )
        except wandb.Error as error:
            offline = "WANDB_MODE=offline needs no server, and `wandb sync` sends it later"
            raise ConfigError(f"track.to: wandb does not start: {error}; {offline}") from error
        self._run.define_metric("*", step_metric="cycle")

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Log a row."""
        self._run.log({"cycle": step, **metrics})

    def close(self) -> None:
        """Wait until all is written."""
        self._run.finish()


class MlflowSink:
    """Logs to MLflow at ``MLFLOW_TRACKING_URI`` or its default. Rows that the server missed are sent with the next."""

    def __init__(self, config: RunConfig, run: Path) -> None:
        from mlflow.entities import Metric, Param
        from mlflow.exceptions import MlflowException
        from mlflow.tracking import MlflowClient

        self._client: Any = MlflowClient()
        self._metric, self._refusal, self._waiting = Metric, MlflowException, list[Any]()
        try:
            self._id = self._open(config, run, Param)
        except MlflowException as error:
            raise ConfigError(f"track.to: mlflow does not start: {error}; look at MLFLOW_TRACKING_URI") from error

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Log a row, after those that still wait to be sent."""
        now = int(time.time() * 1000)
        kept = {name: value for name, value in metrics.items() if math.isfinite(value)}
        self._waiting.append([self._metric(name, value, now, step) for name, value in kept.items()])
        self._try(self._send)

    def close(self) -> None:
        """Send the waiting rows and mark the run as finished."""
        self._try(self._send)
        self._try(lambda: self._client.set_terminated(self._id))

    def _open(self, config: RunConfig, run: Path, param: Any) -> str:
        found = self._client.get_experiment_by_name(config.track.project)
        experiment = found.experiment_id if found else self._client.create_experiment(config.track.project)
        name = tracker_id(run)
        known = self._client.search_runs([experiment], f"tags.`{RUN_TAG}` = '{name}'", max_results=1)
        if known:
            self._client.update_run(known[0].info.run_id, status="RUNNING")
            return str(known[0].info.run_id)
        made = self._client.create_run(experiment, tags={RUN_TAG: name}, run_name=run.resolve().name).info.run_id
        params = [param(key, str(value)[:500]) for key, value in flat_settings(dump_config(config)).items()]
        for start in range(0, len(params), MLFLOW_BATCH):
            self._client.log_batch(made, params=params[start : start + MLFLOW_BATCH])
        return str(made)

    def _try(self, work: Callable[[], None]) -> None:
        """Run ``work``, and only print a failure: a tracker that is unreachable must not stop training."""
        try:
            work()
        except self._refusal as error:
            print(f"mlflow: {str(error).splitlines()[0]} (cycles that wait to be sent: {len(self._waiting)})")

    def _send(self) -> None:
        while self._waiting:
            self._client.log_batch(self._id, metrics=self._waiting[0])
            self._waiting.pop(0)


class TrackioSink:
    """Logs to Trackio, in ``TRACKIO_DIR`` or its default folder, or to the server that its variables name."""

    def __init__(self, config: RunConfig, run: Path) -> None:
        import trackio

        name = f"{run.resolve().name}-{tracker_id(run)}"  # Trackio identifies runs by name alone
        settings = dump_config(config)
        self._run: Any = trackio.init(config.track.project, name, config=settings, resume="allow", embed=False)

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Log a row."""
        self._run.log(dict(metrics), step=step)

    def close(self) -> None:
        """Wait until all is written."""
        self._run.finish()


def tracker_id(run: Path) -> str:
    """The run's id at trackers, which is drawn once and stored in the run directory."""
    path = run / ID_FILE
    if not path.exists():
        write_whole(path, _draw)
    return path.read_text().strip()


def _draw(target: Path) -> None:
    target.write_text(secrets.token_hex(4))
