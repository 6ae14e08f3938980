"""Evaluation during training, which writes results into the run directory and gives their means as metrics."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from spadework.config import EvalSection
from spadework.evals.benchmark import Benchmark
from spadework.evals.records import SuiteResult, averages
from spadework.evals.runner import Choice, Where, run_benchmark
from spadework.evals.selection import columns, mean
from spadework.policies.base import Policy
from spadework.significance import scipy_stats


def results_folder(run: Path, cycle: int) -> Path:
    """Where the results of the weights after a cycle lie; -1 is the model that the run began with."""
    return run / "evals" / (f"{cycle:05d}" if cycle >= 0 else "start")


class RunEvaluator:
    """Scores a run's weights after a cycle (``selfplay.loop.Evaluator``). Raises ``ConfigError`` without scipy.

    Args:
        open_suites: gives what is scored, anew for each evaluation.
        run: the run directory.
        model: the name of the model that the run began with.
        jobs: items at a time; 0 for all at once.
        settings: which items, and how many may fail.
    """

    def __init__(
        self, open_suites: Callable[[], Sequence[Benchmark]], run: Path, model: str, jobs: int, settings: EvalSection
    ) -> None:
        scipy_stats()  # every result has an interval: without scipy, stop now and not at the first evaluation
        self._open, self._run, self._model, self._jobs, self._settings = open_suites, run, model, jobs, settings

    async def __call__(self, policy: Policy, cycle: int) -> dict[str, float]:
        """Metrics ``eval/SUITE``, ``eval/SUITE/GROUP`` and ``eval/average`` (the mean over columns).

        Raises ``RunError`` when too many items of a suite fail by the machinery.
        """
        folder = results_folder(self._run, cycle)
        shutil.rmtree(folder, ignore_errors=True)  # of a cycle that was lost: its weights were others
        choice, most = Choice(limit=self._settings.limit), self._settings.max_fault_share
        where = Where(folder, self._jobs, choice, max_fault_share=most)
        subject = {"model": self._model, "run": self._run.name, "cycle": str(cycle)}
        results: list[SuiteResult] = []
        for suite in self._open():
            try:
                results.append(await run_benchmark(suite, policy, subject, where))
            finally:
                await suite.close()
        found = {f"eval/{name}": value for name, value in averages(results).items()}
        return {**found, "eval/average": mean(list(columns(results).values()))}
