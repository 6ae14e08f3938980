"""Evaluation during training: results are written into the run directory, and their means become metrics."""

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
    """The folder with the results of the weights after ``cycle``; -1 stands for the model that the run started from."""
    return run / "evals" / (f"{cycle:05d}" if cycle >= 0 else "start")


class RunEvaluator:
    """Evaluates a run's weights after a cycle (``selfplay.loop.Evaluator``). Raises ``ConfigError`` without scipy.

    Args:
        open_suites: opens the suites, once per evaluation.
        run: the run directory.
        model: the name of the model that the run started from.
        jobs: how many items are scored at a time; 0 for all at once.
        settings: which items are scored, and how many may fail.
    """

    def __init__(
        self, open_suites: Callable[[], Sequence[Benchmark]], run: Path, model: str, jobs: int, settings: EvalSection
    ) -> None:
        scipy_stats()  # intervals need scipy: fail now, rather than hours later at the first evaluation
        self._open, self._run, self._model, self._jobs, self._settings = open_suites, run, model, jobs, settings

    async def __call__(self, policy: Policy, cycle: int) -> dict[str, float]:
        """Evaluate; returns the metrics ``eval/SUITE``, ``eval/SUITE/GROUP`` and ``eval/average`` (mean over columns).

        Raises ``RunError`` when endpoint, model, sandbox or scorer failed too many items of a suite.
        """
        folder = results_folder(self._run, cycle)
        # A resumed run repeats cycles that a kill has lost. Their old results belong to other weights.
        shutil.rmtree(folder, ignore_errors=True)
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
