"""What a run is scored on, and where its metrics go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from spadework.config.base import Section


class EvalSection(Section):
    """What ``run.evaluate_every`` scores (docs/evals.md)."""

    suites: tuple[str, ...] = ()
    """Suites of ``spadework eval``, under the preset ``paper``."""
    data: Mapping[str, str] = {}
    """The user's file of each suite that needs one."""
    pool: str | None = None
    """Held-out environments, in any format that ``spadework pool`` reads; played in both arms. ``lessons``: the
    held-out games of ``lessons.families``, played with another game's hint too."""
    episodes: int = Field(8, ge=1)
    """Of each held-out environment and arm."""
    at_start: bool = False
    """Whether the model is scored before the first cycle too, for a gain to be measured against."""
    limit: int | None = Field(None, ge=1)
    """Problems asked of each group of a suite; all when unset."""
    max_tokens: int | None = Field(None, ge=1)
    """Of a reply, instead of the preset's: for models with short contexts."""
    max_fault_share: float = Field(0.1, ge=0, le=1)
    """Share of a suite's items that may fail by endpoint, model, sandbox or scorer; with more there is no score. One
    item always may. ``spadework eval`` keeps to it too."""


class TrackSection(Section):
    """Where metrics go beside the run directory; each tracker's own environment variables hold (docs/metrics.md)."""

    to: tuple[Literal["tensorboard", "csv", "wandb", "mlflow", "trackio"], ...] | None = None
    """Trackers beside ``metrics.jsonl``. Unset: TensorBoard where it is installed. Not the paper's."""
    project: str = Field("spadework", min_length=1)
    """Project (of MLflow: experiment) that the run stands in; it is named after its directory."""
