"""What a run is scored on, and where its metrics go."""

from __future__ import annotations

import functools
from pathlib import Path

from spadework.build.material import LESSONS, lesson_families
from spadework.build.stages import build_play
from spadework.build.warm_engine import Note
from spadework.config import RunConfig
from spadework.envs.sandbox.base import Sandbox
from spadework.evals.benchmark import Benchmark
from spadework.evals.heldout import HeldOut, Rules, by_skill
from spadework.evals.in_training import RunEvaluator
from spadework.evals.registry import SuiteOptions, open_suite
from spadework.lessons.held_out import held_out_games, lent_hints
from spadework.runs.metrics import JsonlSink, OptionalSink, Sink, by_cycle
from spadework.runs.store import RunStore
from spadework.runs.trackers import open_trackers
from spadework.selfplay.pool.files import load_pool
from spadework.selfplay.stages import Evaluator


def build_rules(config: RunConfig, episodes: int) -> Rules:
    """How held-out environments are played: as the config's agent plays."""
    return Rules(
        settings=lambda domain: build_play(config.model_copy(update={"domain": domain})),
        episodes=episodes,
        seed=config.run.seed,
        preset="the run's own",
    )


def build_evaluator(config: RunConfig, sandbox: Sandbox, run: Path) -> Evaluator | None:
    """What ``run.evaluate_every`` scores; results go into the run. Raises ``ConfigError`` for what cannot be scored."""
    if not config.run.evaluate_every:
        return None
    _evaluation_suites(config, sandbox)  # what is missing is told before the run, not at the first evaluation
    jobs = 0 if config.run.deterministic else config.play.concurrency
    open_suites = functools.partial(_evaluation_suites, config, sandbox)
    return RunEvaluator(open_suites, run, config.model.name, jobs, config.eval)


def _evaluation_suites(config: RunConfig, sandbox: Sandbox) -> list[Benchmark]:
    wanted = config.eval
    suites: list[Benchmark] = []
    if wanted.pool == LESSONS:
        suites += _held_out_lessons(config, sandbox)
    elif wanted.pool is not None:
        environments, rules = by_skill(load_pool(Path(wanted.pool))), build_rules(config, wanted.episodes)
        suites += [HeldOut("heldout", environments, "unhinted", sandbox, rules)]
        suites += [HeldOut("heldout-hinted", environments, "hinted", sandbox, rules)]
    for name in wanted.suites:
        options = SuiteOptions(
            data=Path(wanted.data[name]) if name in wanted.data else None,
            sampling={"max_tokens": wanted.max_tokens} if wanted.max_tokens else {},
            sandbox=sandbox,
        )
        suites.append(open_suite(name, options))
    return [suite for suite in suites if suite.items()]


def _held_out_lessons(config: RunConfig, sandbox: Sandbox) -> list[Benchmark]:
    """The held-out games in three arms: unhinted, with their hints, with another family's."""
    families, rules = lesson_families(config), build_rules(config, config.eval.episodes)
    games = held_out_games(families)
    lent = lent_hints(games, families)
    return [
        HeldOut("heldout", games, "unhinted", sandbox, rules),
        HeldOut("heldout-hinted", games, "hinted", sandbox, rules),
        HeldOut("heldout-placebo", games, "placebo", sandbox, rules, lent),
    ]


def build_sinks(config: RunConfig, store: RunStore, note: Note) -> list[Sink]:
    """JSON lines, and the trackers of ``track.to``. Raises ``ConfigError`` for one that is not installed."""
    checkpoint = store.last_checkpoint()
    first_cycle = checkpoint.cycle + 1 if checkpoint else 0
    lines = JsonlSink(store.path / "metrics.jsonl", first_cycle, by_cycle(store.metrics()))
    return [OptionalSink("metrics.jsonl", lines, note), *open_trackers(config, store.path, first_cycle, note)]
