"""One job of a study, run in its own process: design a pool, or train one arm with one seed and evaluate it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spadework import build
from spadework.config import RunConfig
from spadework.config.files import load_config
from spadework.errors import RunError
from spadework.jobs.design import PoolBook, design_pool
from spadework.jobs.engine import open_trainer
from spadework.jobs.heldout import heldout_environments, play_heldout
from spadework.observer import Observer
from spadework.run import train_run, until_stopped
from spadework.runs.files import write_text
from spadework.runs.store import RunStore
from spadework.study.folder import Job, StudyFolder, arm_pool, write_json
from spadework.study.frozen import versions
from spadework.study.series import read_evaluations
from spadework.study.spec import Study, config_path, resolve

OpenObserver = Callable[[int], AbstractContextManager[Observer]]
"""Opens an observer for a run with the given number of cycles."""

_POOL_ROUNDS = 4
"""Number of rounds in which the missing environments of a pool are attempted."""
_POOL_JOBS = 32
"""Number of a pool's slots that are designed at the same time."""


@dataclass(frozen=True, slots=True)
class Place:
    """The study that a job belongs to, its file, and its folder."""

    study: Study
    file: Path
    folder: StudyFolder


def run_job(place: Place, job: Job, open_observer: OpenObserver) -> int:
    """Run a job, or the rest of it; a file in the study's folder marks it as done. Raises ``SpadeworkError``."""
    mark = place.folder.mark(place.study, job)
    if mark.exists():
        return 0
    if job.name in place.study.pools:
        return asyncio.run(_until_stopped(_design_pool(place, job, mark)))
    return asyncio.run(_until_stopped(_run(place, job, mark, open_observer)))


def stop_with(parent: int) -> None:
    """Interrupt this process when its parent has died: it would go on unobserved and hold the run's lock."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=watch, daemon=True).start()


async def _until_stopped(work: Coroutine[Any, Any, None]) -> int:
    return await until_stopped(work)


async def _design_pool(place: Place, job: Job, mark: Path) -> None:
    step = place.study.pools[job.name]
    out = place.folder.pool(job.name, job.seed)
    seed = [] if job.seed is None else [f"run.seed={job.seed}"]
    overrides = ["model.threads=1", *place.study.set, *step.set, *seed]
    config = load_config(config_path(place.study.config, place.file), overrides)
    part = mark.with_suffix(".part")  # seconds spent by earlier tries that were stopped or failed
    earlier = float(json.loads(part.read_text("utf-8"))["seconds"]) if part.exists() else 0.0
    began = time.perf_counter()
    try:
        for _ in range(_POOL_ROUNDS):
            book = PoolBook(out, config)
            if len(book.environments) < step.n:
                await design_pool(config, book, step.n, _POOL_JOBS, print)
    finally:
        seconds = earlier + time.perf_counter() - began
        write_json(part, {"seconds": seconds})
    if len(book.environments) < step.n:
        raise RunError(f"{out}: the designer filled too few of {step.n} slots; ask for fewer (pools.{job.name}.n)")
    write_json(mark, {"seconds": seconds, "versions": versions()})
    part.unlink()


async def _run(place: Place, job: Job, mark: Path, open_observer: OpenObserver) -> None:
    path = place.folder.run(job.name, job.seed)
    source = arm_pool(place.study, place.folder, job.name, job.seed)
    config = resolve(place.study, place.file, job.name, job.seed, str(source) if source else None)
    begun = (path / "run.sqlite").exists()
    store = RunStore.resume(path) if begun else RunStore.create(path, config)
    try:
        snapshots = _Snapshots(store, place.study.evaluations())
        snapshots.take()
        checkpoint = store.last_checkpoint()
        if checkpoint is None or checkpoint.cycle + 1 < config.run.cycles:
            with open_observer(config.run.cycles) as observer:
                await train_run(config, store, observer, [snapshots])
    finally:
        store.close()
    if place.study.heldout is not None:
        await _evaluate(place, job, config, snapshots)
    write_json(mark, {"versions": versions()})
    shutil.rmtree(snapshots.folder, ignore_errors=True)


async def _evaluate(place: Place, job: Job, config: RunConfig, snapshots: _Snapshots) -> None:
    """Play the held-out pool with the weights after each update that is due and was not evaluated yet."""
    study, held = place.study, place.study.heldout
    assert held is not None
    common = resolve(study, place.file, None, job.seed)
    environments = heldout_environments(study, place.file, place.folder, common)
    results = place.folder.heldout(job.name, job.seed)
    played = {int(line["updates"]) for line in read_evaluations(results)}
    async with open_trainer(config, print) as (engine, sandbox):
        for updates in [at for at in study.evaluations() if at not in played]:
            policy = engine.policy
            if updates:
                engine.trainer.load(snapshots.at(updates))
            seen = await play_heldout(policy, sandbox, environments, build.build_play(common), held)
            print(f"held-out win rate after {updates} updates: {seen['win_rate']:.3f}", flush=True)
            _append(results, {"updates": updates, **seen})


def _append(path: Path, line: Mapping[str, Any]) -> None:
    """Append a line, and drop a half-written line that a kill has left."""
    before = path.read_text("utf-8") if path.exists() else ""
    write_text(path, before[: before.rfind("\n") + 1] + json.dumps(line, allow_nan=False) + "\n")


class _Snapshots:
    """Copies of the checkpoints whose weights will be evaluated (``runs.metrics.Sink``)."""

    def __init__(self, store: RunStore, due: list[int]) -> None:
        self.folder, self._store, self._due = store.path / "snapshots", store, due

    def at(self, updates: int) -> Path:
        """The folder of the weights after this number of updates."""
        return self.folder / f"{updates:05d}"

    def take(self) -> None:
        """Copy the last checkpoint if it is due and was not copied yet. A kill can come between commit and copy."""
        checkpoint = self._store.last_checkpoint()
        if checkpoint is None or checkpoint.cycle + 1 not in self._due:
            return
        target = self.at(checkpoint.cycle + 1)
        if not target.exists():
            aside = target.with_suffix(".tmp")
            shutil.rmtree(aside, ignore_errors=True)
            shutil.copytree(checkpoint.folder, aside)
            aside.replace(target)

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Copy the checkpoint of the cycle that was just committed, if it is due."""
        self.take()

    def close(self) -> None:
        """Nothing to close."""
