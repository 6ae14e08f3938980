"""The subject of ``spadework eval`` (a model, a checkpoint of a run, or an endpoint), and its evaluation."""

from __future__ import annotations

import argparse
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from spadework import build
from spadework.config import RunConfig
from spadework.config.files import load_config, override_config
from spadework.envs.sandbox.base import Sandbox
from spadework.errors import ConfigError
from spadework.evals.benchmark import Benchmark
from spadework.evals.heldout import HeldOut, by_age, by_skill
from spadework.evals.in_training import results_folder
from spadework.evals.records import SuiteResult
from spadework.evals.registry import SuiteOptions, open_suite
from spadework.evals.runner import Choice, Where, run_benchmark
from spadework.jobs.checkpoint import START, WHICH, find_checkpoint
from spadework.jobs.engine import ask_first
from spadework.observer import Observer
from spadework.policies.base import Policy
from spadework.runs.reading import read_environments
from spadework.runs.store import RunStore
from spadework.selfplay.pool.files import load_pool


@dataclass(frozen=True, slots=True)
class Subject:
    """What is evaluated, under which config, and the default folder of the results."""

    config: RunConfig
    told: dict[str, str]
    folder: Path
    checkpoint: Path | None = None


def add_subject(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that choose what is evaluated."""
    parser.add_argument("--model", metavar="NAME", help="a model by name or folder; with --endpoint, its name there")
    parser.add_argument("--run", type=Path, metavar="RUN", help="a run directory")
    parser.add_argument("--checkpoint", default="last", metavar="WHICH", help=WHICH)
    parser.add_argument("--endpoint", action="append", default=[], metavar="URL", help="any OpenAI-compatible endpoint")
    parser.add_argument("--user-endpoint", metavar="URL", help="who plays the simulated user or judges")
    parser.add_argument("--user-model", metavar="NAME", help="its name there")
    parser.add_argument(
        "--user-key-env", metavar="VARIABLE", help="holds its key (default: endpoint.key_env, but for another host)"
    )
    parser.add_argument("--config", metavar="NAME", help="a TOML file or shipped config for the engine's settings")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="override a setting")


async def run_suites(
    names: Sequence[str], args: argparse.Namespace, observer: Observer
) -> tuple[Path, list[SuiteResult]]:
    """Score every suite; returns the folder of the results and the results. Raises ``ConfigError`` and ``RunError``."""
    subject = _subject(args)
    where = Where(
        args.out or subject.folder,
        args.jobs,
        Choice(args.limit, tuple(args.only)),
        retry=args.retry_faults,
        max_fault_share=subject.config.eval.max_fault_share,
    )
    results = []
    async with _opened(subject) as (policy, sandbox), _user(args, subject.config) as user:
        suites = [suite for name in names for suite in _open(name, args, subject.config, sandbox, user)]
        for suite in suites:
            try:
                results.append(await run_benchmark(suite, policy, subject.told, where, observer))
            finally:
                await suite.close()
    return where.folder, results


async def transfer(args: argparse.Namespace, observer: Observer) -> dict[str, SuiteResult]:
    """Play each checkpoint of a run, and its start model, in the run's own environments, grouped by age."""
    store = RunStore.read(args.run)
    try:
        config = override_config(store.config, args.set)
        own = {one.id: one for one in reversed(read_environments(store)) if one.design_id is not None}
        checkpoints: dict[int, Path | None] = {START: None, **store.checkpoints()}
    finally:
        store.close()
    if len(own) < args.ages:
        raise ConfigError(f"{args.run}: {len(own)} environments of its own cannot make {args.ages} ages; see --ages")
    results = {}
    for cycle, weights in checkpoints.items():
        subject = _of_run(args.run, config, cycle, weights)
        async with _opened(subject) as (policy, sandbox):
            suite = HeldOut(
                "transfer",
                by_age(list(own.values()), args.ages),
                "unhinted",
                sandbox,
                build.build_rules(config, args.n),
            )
            folder = args.out / subject.folder.name if args.out else subject.folder
            where = Where(folder, args.jobs, max_fault_share=config.eval.max_fault_share)
            name = "start" if cycle == START else f"cycle {cycle + 1}"
            results[name] = await run_benchmark(suite, policy, subject.told, where, observer)
    return results


def _subject(args: argparse.Namespace) -> Subject:
    if (args.run is not None) + bool(args.endpoint) + (args.model is not None and not args.endpoint) != 1:
        raise ConfigError("say who is scored: --model NAME, --run RUN, or --endpoint URL with --model NAME")
    if args.run is not None:
        found = find_checkpoint(args.run, args.checkpoint, args.set)
        return _of_run(args.run, found.config, found.cycle, found.folder)
    if args.model is None:
        raise ConfigError("--endpoint needs --model: the model's name there")
    base = load_config(args.config) if args.config else RunConfig()
    name = f"openai:{args.model}" if args.endpoint else args.model
    urls = [f"endpoint.urls={list(args.endpoint)!r}"] if args.endpoint else []
    config = override_config(base, [f"model.name={name!r}", *urls, *args.set])
    told = {"model": args.model, **({"endpoint": " ".join(args.endpoint)} if args.endpoint else {})}
    if config.warmup.enabled:
        told["warm-up"] = args.config
    return Subject(config, told, Path("evals") / re.sub(r"[^\w.-]+", "-", args.model).strip("-"))


def _of_run(run: Path, config: RunConfig, cycle: int, checkpoint: Path | None) -> Subject:
    told = {"model": config.model.name, "run": run.resolve().name, "cycle": str(cycle)}
    return Subject(config, told, results_folder(run, cycle), checkpoint)


@asynccontextmanager
async def _opened(subject: Subject) -> AsyncIterator[tuple[Policy, Sandbox]]:
    """Open the subject's policy and a sandbox."""
    sandbox = build.build_sandbox(subject.config)
    try:
        policy: Policy
        if subject.checkpoint is None:
            policy = await build.build_policy(subject.config, sandbox, lambda text: None)
        else:
            engine = build.build_engine(subject.config)
            engine.trainer.load(subject.checkpoint)
            policy = engine.policy
        try:
            await ask_first(policy, print)
            yield policy, sandbox
        finally:
            await policy.close()
    finally:
        await sandbox.close()


@asynccontextmanager
async def _user(args: argparse.Namespace, config: RunConfig) -> AsyncIterator[Policy | None]:
    if args.user_endpoint is None:
        yield None
        return
    name = args.user_model or args.model
    if not name:
        raise ConfigError("--user-endpoint needs --user-model: the model's name there")
    update = {"urls": (args.user_endpoint,), "weights": (), "key_env": _user_key(args, config)}
    policy = build.build_endpoint(config.endpoint.model_copy(update=update), name, config.run.seed)
    try:
        await ask_first(policy, print)
        yield policy
    finally:
        await policy.close()


def _user_key(args: argparse.Namespace, config: RunConfig) -> str:
    """The variable with the simulated user's key. The key of the model's endpoint is never sent to another host."""
    if args.user_key_env is not None:
        return str(args.user_key_env)
    own = {urlsplit(url).netloc for url in config.endpoint.urls if config.model.name.startswith(build.ENDPOINT)}
    return config.endpoint.key_env if not own or urlsplit(args.user_endpoint).netloc in own else ""


def _open(
    name: str, args: argparse.Namespace, config: RunConfig, sandbox: Sandbox, user: Policy | None
) -> list[Benchmark]:
    if name == "heldout":
        if args.pool is None:
            raise ConfigError("heldout: needs --pool POOL, e.g. the heldout.parquet of `spadework eval split`")
        environments, rules = by_skill(load_pool(args.pool)), build.build_rules(config, args.n or 8)
        arms = {"heldout": "unhinted", "heldout-hinted": "hinted"}
        suites = [HeldOut(suite, environments, arm, sandbox, rules) for suite, arm in arms.items()]  # type: ignore[arg-type]
        return [suite for suite in suites if suite.items()]
    options = SuiteOptions(
        preset=args.preset,
        data=_data(name, args.data),
        sampling=dict(_sampling_value(text) for text in args.sampling),
        trials=args.n,
        sandbox=sandbox,
        user=user,
        user_name=args.user_model or args.model or "",
        seed=config.run.seed,
    )
    return [open_suite(name, options)]


def _data(name: str, given: Sequence[str]) -> Path | None:
    """The data file of a suite: the one given as ``SUITE=FILE``, else the one given without a suite."""
    named = dict(text.partition("=")[::2] for text in given if "=" in text)
    plain: list[Any] = [text for text in given if "=" not in text]
    found = named.get(name, plain[-1] if plain else None)
    return Path(found) if found else None


def _sampling_value(text: str) -> tuple[str, float | int]:
    key, _, value = text.partition("=")
    try:
        return key, int(value) if value.lstrip("-").isdigit() else float(value)
    except ValueError:
        raise ConfigError(f"--sampling {text}: write it as key=number, e.g. max_tokens=512") from None
