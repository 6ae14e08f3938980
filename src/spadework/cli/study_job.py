"""One job of a study in a process of its own: design a pool, or train an arm with a seed and play what is held out."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from spadework import build
from spadework.cli import design
from spadework.cli.engine import open_trainer
from spadework.cli.heldout import heldout_environments, play_heldout
from spadework.cli.progress import Progress
from spadework.cli.train import train_run, until_stopped
from spadework.config import RunConfig
from spadework.errors import RunError
from spadework.runs.store import RunStore
from spadework.study.folder import Job, StudyFolder, arm_pool, write_json
from spadework.study.frozen import versions
from spadework.study.series import read_evaluations
from spadework.study.spec import Study, config_path, resolve

_POOL_ROUNDS = 4
"""Times that ``design`` is asked for what a pool still misses."""


@dataclass(frozen=True, slots=True)
class Place:
    """A study as a job sees it."""

    study: Study
    file: Path
    folder: StudyFolder


def run_job(place: Place, job: Job) -> int:
    """Do a job, or what is left of it; the mark in the folder says that it is done. Raises ``SpadeworkError``."""
    mark = place.folder.mark(place.study, job)
    if mark.exists():
        return 0
    if job.name in place.study.pools:
        return _design_pool(place, job, mark)
    return asyncio.run(_stoppable(place, job, mark))


def stop_with(parent: int) -> None:
    """Interrupt this process once its parent is gone: nobody would read it, and it would hold its run's lock."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=watch, daemon=True).start()


def _design_pool(place: Place, job: Job, mark: Path) -> int:
    step = place.study.pools[job.name]
    out = place.folder.pool(job.name, job.seed)
    args = argparse.Namespace(
        n=step.n,
        config=config_path(place.study.config, place.file),
        set=["model.threads=1", *place.study.set, *step.set],
        seed=job.seed,
        out=out,
        jobs=32,
    )
    part = mark.with_suffix(".part")  # what earlier tries took, which were stopped or failed
    earlier = float(json.loads(part.read_text("utf-8"))["seconds"]) if part.exists() else 0.0
    began = time.perf_counter()
    try:
        for _ in range(_POOL_ROUNDS):
            status = design.run(args)
            if status != 1:
                break
    finally:
        seconds = earlier + time.perf_counter() - began
        write_json(part, {"seconds": seconds})
    if status == 1:
        raise RunError(f"{out}: the designer filled too few of {step.n} slots; ask for fewer (pools.{job.name}.n)")
    if status == 0:
        write_json(mark, {"seconds": seconds, "versions": versions()})
        part.unlink()
    return status


async def _stoppable(place: Place, job: Job, mark: Path) -> int:
    return 130 if await until_stopped(_run(place, job, mark)) else 0


async def _run(place: Place, job: Job, mark: Path) -> None:
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
            with Progress(Console(highlight=False), config.run.cycles) as progress:
                await train_run(config, store, progress, [snapshots])
    finally:
        store.close()
    if place.study.heldout is not None:
        await _evaluate(place, job, config, snapshots)
    write_json(mark, {"versions": versions()})
    shutil.rmtree(snapshots.folder, ignore_errors=True)


async def _evaluate(place: Place, job: Job, config: RunConfig, snapshots: _Snapshots) -> None:
    """Play what is held out after each update that is due and was not played yet."""
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
    """Add a line; what a kill tore off before is dropped first."""
    whole = path.read_text("utf-8") if path.exists() else ""
    path.write_text(whole[: whole.rfind("\n") + 1] + json.dumps(line, allow_nan=False) + "\n", "utf-8")


class _Snapshots:
    """Copies of the checkpoints whose weights will be evaluated (``runs.metrics.Sink``)."""

    def __init__(self, store: RunStore, due: list[int]) -> None:
        self.folder, self._store, self._due = store.path / "snapshots", store, due

    def at(self, updates: int) -> Path:
        """Where the weights after so many updates lie."""
        return self.folder / f"{updates:05d}"

    def take(self) -> None:
        """Copy the last checkpoint if it is due and was not copied: a kill may have come between the two."""
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
        """A cycle was committed."""
        self.take()

    def close(self) -> None:
        """Nothing to close."""
