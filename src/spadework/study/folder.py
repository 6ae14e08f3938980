"""A study's folder: where each job writes its files, and which file marks a job as done.

study.toml, frozen.json     a copy of the study's file, and the settings that it resolved to
pools/NAME-SEED.parquet     a pool designed before the runs; NAME-SEED.json beside it says that the pool is complete,
                            and how many seconds it took
runs/ARM-SEED/              an ordinary run directory with heldout.jsonl, and with done.json once the run is complete;
                            in an archive, series.json and done.json alone
logs/JOB.log                what the job printed
report/                     the report, its figures and results.json
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spadework.errors import ConfigError
from spadework.runs.files import write_text
from spadework.study.spec import Study


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of work: a pool to design, or an arm to run with one seed."""

    name: str
    seed: int

    def __str__(self) -> str:
        return f"{self.name}:{self.seed}"


@dataclass(frozen=True, slots=True)
class StudyFolder:
    """The paths of all files of the study in ``path``."""

    path: Path

    def run(self, arm: str, seed: int) -> Path:
        """The run directory of an arm and a seed."""
        return self.path / "runs" / f"{arm}-{seed}"

    def pool(self, name: str, seed: int) -> Path:
        """The prepared pool of a name and a seed."""
        return self.path / "pools" / f"{name}-{seed}.parquet"

    def log(self, job: Job) -> Path:
        """The file with what the job printed."""
        return self.path / "logs" / f"{job.name}-{job.seed}.log"

    def mark(self, study: Study, job: Job) -> Path:
        """The file whose existence says that a job is done."""
        if job.name in study.pools:
            return self.pool(job.name, job.seed).with_suffix(".json")
        return self.run(job.name, job.seed) / "done.json"

    def heldout(self, arm: str, seed: int) -> Path:
        """The held-out results of a run, with one line for each evaluation."""
        return self.run(arm, seed) / "heldout.jsonl"

    def series(self, arm: str, seed: int) -> Path:
        """The file with what an archive keeps of a run."""
        return self.run(arm, seed) / "series.json"

    @property
    def report(self) -> Path:
        """The folder of the report."""
        return self.path / "report"

    @property
    def frozen(self) -> Path:
        """The file with the settings, written before the first run."""
        return self.path / "frozen.json"


def pool_jobs(study: Study) -> list[Job]:
    """The jobs that design pools; they come before the runs, which draw from the pools."""
    return [
        Job(name, seed)
        for name, step in study.pools.items()
        for seed in (study.seeds if step.seed is None else [step.seed])
    ]


def run_jobs(study: Study) -> list[Job]:
    """The jobs that run arms, seed by seed, so that a study that is stopped has complete pairs."""
    return [Job(arm, seed) for seed in study.seeds for arm in study.arms]


def arm_pool(study: Study, folder: StudyFolder, arm: str, seed: int) -> Path | None:
    """The prepared pool that a run draws from; ``None`` where its arm has no such pool."""
    name = study.arms[arm].pool
    if name is None:
        return None
    own = study.pools[name].seed
    return folder.pool(name, seed if own is None else own)


def find_job(study: Study, text: str) -> Job:
    """The job that ``NAME:SEED`` names. Raises ``ConfigError`` that lists the study's jobs."""
    known = {str(job): job for job in [*pool_jobs(study), *run_jobs(study)]}
    if text not in known:
        raise ConfigError(f"--only {text}: this study has {', '.join(known)}")
    return known[text]


def write_json(path: Path, data: Any, indent: int | None = 1) -> None:
    """Write ``data``, in one line without ``indent``; a kill leaves the file whole or absent. NaN becomes null."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(plain(data), indent=indent, allow_nan=False) + "\n"
    write_text(path, text)


def plain(value: Any) -> Any:
    """The value as JSON can have it: NaN and infinities become ``None``, and tuples become lists."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and (not math.isfinite(value)):
        return None
    return value
