"""An archive holds what a study's report needs, without the runs, in files small enough to keep beside code.

It is a study's folder itself: a report can be written from it, and an unfinished study can go on from it elsewhere.
Several machines that each did a part of a study can write into one archive.
"""

from __future__ import annotations

import shutil

from spadework.errors import ConfigError
from spadework.study.folder import StudyFolder, pool_jobs, run_jobs
from spadework.study.frozen import read_frozen
from spadework.study.series import read_run, write_series
from spadework.study.spec import Study


def write_archive(study: Study, folder: StudyFolder, archive: StudyFolder) -> int:
    """Add the pools and finished runs of ``folder`` to ``archive``, and return the number of those runs.

    Raises ``ConfigError`` when the archive is another study's.
    """
    if archive.frozen.exists() and read_frozen(archive)["sha256"] != read_frozen(folder)["sha256"]:
        raise ConfigError(f"{archive.path} holds another study: name another folder")
    archive.path.mkdir(parents=True, exist_ok=True)
    for name in ("study.toml", folder.frozen.name):
        shutil.copyfile(folder.path / name, archive.path / name)
    for job in pool_jobs(study):
        if folder.mark(study, job).exists():
            archive.pool(job.name, job.seed).parent.mkdir(exist_ok=True)
            shutil.copyfile(folder.pool(job.name, job.seed), archive.pool(job.name, job.seed))
            shutil.copyfile(folder.mark(study, job), archive.mark(study, job))
    finished = [job for job in run_jobs(study) if folder.mark(study, job).exists()]
    for job in finished:
        run = read_run(study, folder, job.name, job.seed)
        assert run is not None
        write_series(archive.series(job.name, job.seed), run, study)
        shutil.copyfile(folder.mark(study, job), archive.mark(study, job))
    return len(finished)
