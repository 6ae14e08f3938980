"""The making of a pool counts as training time, also what a stopped try took."""

import asyncio
import json
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from spadework.jobs import study as jobs
from spadework.jobs.study import Place, run_job
from spadework.study.folder import Job, StudyFolder
from spadework.study.spec import load_study

STUDY = """
title = "t"
config = "scripted"
seeds = [1]
cycles = 2
[pools.start]
n = 2
[arms.a]
pool = "start"
[measures.m]
label = "m"
series = "agent/turns"
"""


def no_observer(cycles: int) -> AbstractContextManager[Any]:
    raise AssertionError("a pool is no run")


def test_time_before_a_stop_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "study.toml"
    file.write_text(STUDY)
    study, folder, job = load_study(file), StudyFolder(tmp_path / "out"), Job("start", 1)

    async def stopped(*args: object) -> None:
        time.sleep(0.2)
        raise asyncio.CancelledError

    with monkeypatch.context() as patch:
        patch.setattr(jobs, "design_pool", stopped)
        assert run_job(Place(study, file, folder), job, no_observer) == 130
    mark = folder.mark(study, job)
    assert not mark.exists()
    began = time.perf_counter()
    assert run_job(Place(study, file, folder), job, no_observer) == 0
    second = time.perf_counter() - began
    assert 0.2 < json.loads(mark.read_text())["seconds"] < 0.2 + second + 0.2
    assert json.loads(mark.read_text())["seconds"] > 0.2 + second / 2
    assert not mark.with_suffix(".part").exists()
