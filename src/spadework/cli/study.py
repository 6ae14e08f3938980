"""``spadework study``: run all arms and seeds of a study file, and write a report that decides what it claims."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import time
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.status import Status
from rich.table import Table

from spadework.cli.progress import Progress
from spadework.errors import ConfigError
from spadework.jobs.study import Place, run_job, stop_with
from spadework.run import until_stopped
from spadework.study.archive import write_archive
from spadework.study.folder import Job, StudyFolder, find_job, plain, pool_jobs, run_jobs
from spadework.study.frozen import begun, freeze
from spadework.study.report import check_report_packages, write_report
from spadework.study.results import Results, as_json, read_results
from spadework.study.spec import find_study, load_study

_TERMINAL_TICK, _PLAIN_TICK = 0.5, 60.0
"""Seconds between lines of progress, on a terminal and elsewhere."""
_TRIES = 2
"""A job that fails goes on once more from where it stood: a machine that is too busy passes."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    parser.add_argument("file", help="a study file, or the name of a shipped study")
    parser.add_argument("--out", type=Path, metavar="DIR", help="default: runs/study-NAME; one that was begun goes on")
    parser.add_argument("--quick", action="store_true", help="run the file's quick section: too small to decide")
    parser.add_argument("--jobs", type=int, metavar="N", help="runs at a time (default: one a core)")
    parser.add_argument("--only", metavar="NAME:SEED", help="do this run or pool alone, in this process; no report")
    parser.add_argument("--report-only", action="store_true", help="start nothing, report what is there")
    parser.add_argument(
        "--archive",
        type=Path,
        metavar="DIR",
        help="start nothing, write what the report needs of finished runs into DIR: a study's folder, but small",
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON at the end")
    parser.add_argument("--parent", type=int, help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Run the verb: 1 when runs failed, 130 when it was stopped."""
    file = find_study(args.file)
    study = load_study(file)
    if args.quick:
        study = study.quickly()
    folder = StudyFolder(args.out or Path("runs") / f"study-{file.stem}{'-quick' if args.quick else ''}")
    if args.archive:
        begun(file, folder, args.quick)
        count = write_archive(study, folder, StudyFolder(args.archive))
        print(f"{args.archive}: {count} finished runs")
        return 0
    frozen = begun(file, folder, args.quick) if args.report_only else freeze(study, file, folder, args.quick)
    place = Place(study, file, folder)
    if args.only:
        if args.parent:
            stop_with(args.parent)
        return run_job(place, find_job(study, args.only), partial(Progress, Console(highlight=False)))
    check_report_packages()
    console = Console(stderr=args.json, highlight=False)
    if not args.report_only:
        work = _Work(place, args, console)
        if asyncio.run(until_stopped(work.run())):
            console.print("stopped; the same command goes on")
            return 130
    results = read_results(study, folder)
    if not results.runs:
        raise ConfigError(f"{folder.path}: no run has a cycle yet: nothing to report")
    for note in write_report(results, frozen, folder):
        console.print(note, markup=False)
    _print_verdicts(results, console)
    console.print(f"report: {folder.report / 'report.html'}", soft_wrap=True)
    if args.json:
        print(json.dumps(plain(as_json(results)), indent=1))
    return int(results.finished < results.expected)


class _Work:
    """Runs the jobs that are not done, each in a process of its own with one thread."""

    def __init__(self, place: Place, args: argparse.Namespace, console: Console) -> None:
        self.place, self.args, self.console = place, args, console
        self._gate = asyncio.Semaphore(args.jobs or len(os.sched_getaffinity(0)))
        self._began, self._start, self._going = time.monotonic(), self._cycles(), 0
        self._done = sum(self._is_done(job) for job in run_jobs(place.study))

    async def run(self) -> None:
        """All pools, then all runs. What fails leaves its log, and the others go on."""
        study = self.place.study
        status: Status | nullcontext[None]
        status = self.console.status(self._line()) if self.console.is_terminal else nullcontext()
        with status as shown:
            watching = asyncio.create_task(self._watch(shown))
            try:
                for jobs in (pool_jobs(study), run_jobs(study)):
                    async with asyncio.TaskGroup() as group:
                        for job in jobs:
                            if not self._is_done(job):
                                group.create_task(self._do(job))
            finally:
                watching.cancel()

    async def _do(self, job: Job) -> None:
        async with self._gate:
            log = self.place.folder.log(job)
            log.parent.mkdir(parents=True, exist_ok=True)
            self._going += 1
            try:
                for _ in range(_TRIES):
                    status = await self._process(job, log)
                    if not status:
                        break
            finally:
                self._going -= 1
        self._done += job.name in self.place.study.arms and not status
        told = "done" if not status else f"FAILED: {_last_line(log)} (see {log})"
        self.console.print(f"{job} {told}; {self._line()}", soft_wrap=True, markup=False)

    async def _process(self, job: Job, log: Path) -> int:
        quick = ["--quick"] if self.args.quick else []
        command = [sys.executable, "-m", "spadework", "study", self.args.file, *quick]
        command += ["--out", str(self.place.folder.path), "--only", str(job), "--parent", str(os.getpid())]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
        with log.open("ab") as out:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=environment,
                start_new_session=True,  # Ctrl-C is told by us, once
            )
            try:
                return await process.wait()
            except asyncio.CancelledError:
                process.send_signal(signal.SIGINT)
                await process.wait()
                raise

    async def _watch(self, shown: Status | None) -> None:
        while True:
            await asyncio.sleep(_TERMINAL_TICK if shown else _PLAIN_TICK)
            if shown:
                shown.update(self._line())
            else:
                self.console.print(self._line())

    def _is_done(self, job: Job) -> bool:
        return self.place.folder.mark(self.place.study, job).exists()

    def _cycles(self) -> int:
        """Cycles of all runs so far: lines of their metrics files."""
        files = (self.place.folder.run(job.name, job.seed) / "metrics.jsonl" for job in run_jobs(self.place.study))
        return sum(file.read_bytes().count(b"\n") for file in files if file.exists())

    def _line(self) -> str:
        study, cycles = self.place.study, self._cycles()
        jobs = run_jobs(study)
        total = len(jobs) * study.cycles
        new, passed = cycles - self._start, time.monotonic() - self._began
        seconds = (total - cycles) * passed / new if new else 0.0
        left = f"{int(seconds // 60)} min {int(seconds % 60):02d} s left" if new else "time left unknown"
        return f"{self._done} of {len(jobs)} runs done, {self._going} going; cycle {cycles} of {total}; {left}"


def _last_line(log: Path) -> str:
    lines = [line for line in log.read_text("utf-8", errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else "it printed nothing"


def _print_verdicts(results: Results, console: Console) -> None:
    for title, reading in (("at equal updates", results.updates), ("at equal training time", results.time)):
        table = Table(title=f"{results.study.title}: {title}", title_justify="left", box=None, pad_edge=False)
        for name in ("hypothesis", "verdict", "estimates"):
            table.add_column(name)
        for one in reading.decided:
            told = ", ".join(f"{c.estimate:.3f} against {c.than}" for c in one.comparisons)
            table.add_row(one.claim, one.verdict, told)
        if reading.decided:
            console.print(table)
    console.print(f"{results.finished} of {results.expected} runs finished")
