"""The making of a pool counts as training time, also what a failed try took."""

import asyncio
import json
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

from spadework.errors import RunError
from spadework.jobs import study as study_jobs
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


def test_time_before_a_failure_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "study.toml"
    file.write_text(STUDY)
    study, folder, job = load_study(file), StudyFolder(tmp_path / "out"), Job("start", 1)
    place, mark = Place(study, file, folder), folder.mark(study, job)

    async def fail_late(*args: object) -> None:
        await asyncio.sleep(0.2)
        raise RunError("the sandbox is gone")

    with monkeypatch.context() as patched:
        patched.setattr(study_jobs, "design_pool", fail_late)
        with pytest.raises(RunError, match="the sandbox is gone"):
            run_job(place, job, nullcontext)
    assert not mark.exists()
    began = time.perf_counter()
    assert run_job(place, job, nullcontext) == 0
    passed = time.perf_counter() - began
    assert json.loads(mark.read_text())["seconds"] == pytest.approx(0.2 + passed, abs=0.2)
    assert not list(mark.parent.glob("*.part"))
