"""The making of a pool counts as training time, also what a stopped try took."""

import json
import time
from pathlib import Path

import pytest

from spadework.cli.environments import design
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


def test_time_before_a_stop_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "study.toml"
    file.write_text(STUDY)
    study, folder, job = load_study(file), StudyFolder(tmp_path / "out"), Job("start", 1)
    statuses = iter([130, 0])

    def slowly(args: object) -> int:
        time.sleep(0.1)
        return next(statuses)

    monkeypatch.setattr(design, "run", slowly)
    assert run_job(Place(study, file, folder), job) == 130
    mark = folder.mark(study, job)
    assert not mark.exists()
    assert run_job(Place(study, file, folder), job) == 0
    assert json.loads(mark.read_text())["seconds"] >= 0.2
    assert [path.name for path in mark.parent.iterdir()] == [mark.name]
