"""From a config to living objects: the only file that names concrete backends."""

from __future__ import annotations

import functools
import importlib.metadata
import random
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from spadework.analysis.diversity import text_diversity
from spadework.config import EndpointSection, RunConfig
from spadework.corpus.documents import Corpus
from spadework.envs.check.players import Play, oracle
from spadework.envs.check.runtime import RuntimeChecks
from spadework.envs.registry import find_domain
from spadework.envs.sandbox.base import Limits, Sandbox
from spadework.envs.sandbox.forkserver.client import ForkServer, PoolLimits
from spadework.envs.sandbox.packaged.sandbox import PackagedSandbox
from spadework.envs.sandbox.process import ProcessSandbox
from spadework.errors import ConfigError, SandboxError
from spadework.evals.benchmark import Benchmark
from spadework.evals.heldout import HeldOut, Rules, by_skill
from spadework.evals.in_training import RunEvaluator
from spadework.evals.registry import SuiteOptions, open_suite
from spadework.lessons.held_out import held_out_games, lent_hints
from spadework.lessons.warmup import lesson_rows
from spadework.lessons.words import WordFamily, WordLessons, load_families
from spadework.policies.base import Policy, SamplingParams, Trainer
from spadework.policies.embedding import build_embedder
from spadework.policies.hyperparameters import hyperparameters
from spadework.policies.thinking import Thinking, check_thinking
from spadework.resources import cache_dir, shipped
from spadework.rollout import PlaySettings
from spadework.runs.files import lock_when_free
from spadework.runs.metrics import JsonlSink, OptionalSink, Sink, by_cycle
from spadework.runs.store import RunStore
from spadework.runs.trackers import open_trackers
from spadework.selfplay.design.collapse import CollapseAlarm
from spadework.selfplay.design.designer import Designer, DesignTools
from spadework.selfplay.design.examples import ExampleEnvironment, load_examples
from spadework.selfplay.design.hints import HintWriter
from spadework.selfplay.design.memory import Memory
from spadework.selfplay.design.model_check import ModelCheck
from spadework.selfplay.design.novelty import Neighbours, SeenPrograms
from spadework.selfplay.design.prompts import agent_opening
from spadework.selfplay.design.validation import Validator
from spadework.selfplay.design.warmup import warm_up, warmup_hash, warmup_rows
from spadework.selfplay.loop import Evaluator, Stages
from spadework.selfplay.pool.climber import Climber
from spadework.selfplay.pool.controller import Controller
from spadework.selfplay.pool.files import load_pool
from spadework.selfplay.pool.fixed import FixedPool
from spadework.selfplay.pool.levelled import LevelledPool
from spadework.selfplay.pool.pool import Pool
from spadework.selfplay.records import Example
from spadework.selfplay.score.advantages import build_advantage
from spadework.selfplay.score.averages import build_average
from spadework.selfplay.score.ledger import Ledger
from spadework.selfplay.score.rewards import build_reward
from spadework.selfplay.score.skills import SkillAverages
from spadework.types import Environment

Note = Callable[[str], None]

ENDPOINT = "openai:"
"""Begins the name of a model that an endpoint serves."""
LESSONS = "lessons"
"""As ``eval.pool``: the held-out games of ``lessons.families``."""
TINKER = "tinker:"
"""Begins the name of a model that a Tinker server samples and trains."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A model that speaks and learns."""

    policy: Policy
    trainer: Trainer


def build_sandbox(config: RunConfig) -> Sandbox:
    """The sandbox of ``sandbox.type``, and workers for the environments of packages."""
    settings = config.sandbox
    if settings.type == "process" or (settings.unsafe and not sys.platform.startswith("linux")):
        return PackagedSandbox(ProcessSandbox(unsafe=settings.unsafe))
    pool = PoolLimits(instances=settings.max_instances, memory_mb=settings.max_memory_mb)
    if settings.type == "ray":
        from spadework.envs.sandbox.ray import RaySandbox

        return PackagedSandbox(
            RaySandbox(settings.ray_address, pool=pool, require=settings.require, unsafe=settings.unsafe)
        )
    return PackagedSandbox(ForkServer(pool, require=settings.require, unsafe=settings.unsafe))


async def check_sandbox(sandbox: Sandbox) -> None:
    """Start it once, so that a host that cannot confine anything is told at once. Raises ``ConfigError``."""
    try:
        session = await sandbox.open(
            "class ReadyEnv:\n    def reset(self, seed=None):\n        return 'ready'\n", Limits()
        )
        await session.close()
    except SandboxError as error:
        raise ConfigError(str(error.fault.message)) from error


def check_trains(config: RunConfig) -> None:
    """Raises ``ConfigError`` where the config's model cannot be trained."""
    if config.model.name.startswith(ENDPOINT):
        raise ConfigError(
            f"model.name = {config.model.name!r} is a model behind an endpoint: it designs, plays and ranks, but does "
            "not train. Train another model, and let this one design if you like: designer.model with "
            "designer.train = false"
        )
    if config.model.name.startswith(TINKER):
        _check_tinker(config)


def check_parts(config: RunConfig, where: str) -> None:
    """Raises ``ConfigError``, which begins with ``where``, for a reward, estimator or average that cannot be built."""
    build_reward(config.reward, where)
    build_advantage(config.agent, where)
    build_average(config.update, where)


def build_engine(config: RunConfig, model: str | None = None) -> Engine:
    """Policy and trainer of ``model.name`` or of the folder ``model``. Raises ``ConfigError``, for endpoints too."""
    check_trains(config)
    if config.model.name == "scripted":
        from spadework.testing.scripted import ScriptedPolicy, ScriptedTrainer

        script = find_domain(config.domain).demo
        if script is None:
            raise ConfigError(f"model.name = 'scripted': the domain {config.domain!r} has no demo script")
        scripted = ScriptedPolicy(script, config.run.seed)
        return Engine(scripted, ScriptedTrainer(scripted))
    if config.model.name.startswith(TINKER):
        return _tinker_engine(config)
    try:
        from spadework.policies.local.models import resolve_device
        from spadework.policies.local.options import LocalOptions
        from spadework.policies.local.policy import load_local
        from spadework.policies.server.served import load_served
    except ImportError as error:
        raise _needs_local(str(error.name)) from None
    options = LocalOptions(
        slots=config.model.slots,
        dtype=config.model.dtype,
        threads=config.model.threads or 0,
        lora_rank=config.model.lora_rank,
        deterministic=config.run.deterministic,
        max_length=config.model.max_length,
        micro_batch_tokens=config.model.micro_batch_tokens,
        device=resolve_device(config.model.device),
        shard=config.model.shard,
    )
    name, seed = model or config.model.name, config.run.seed
    if config.sampler.type == "server":
        folder = Path(config.sampler.folder or "").expanduser().resolve()
        engine = Engine(*load_served(name, config.endpoint, folder, run_seed=seed, options=options))
    else:
        engine = Engine(*load_local(name, run_seed=seed, options=options))
    check_thinking(engine.policy, _asked_thinking(config, author=name == config.designer.model))
    return engine


def _asked_thinking(config: RunConfig, author: bool) -> dict[str, Thinking]:
    """By key, what is asked of the model in training, or of the ``author`` where another one designs."""
    play: dict[str, Thinking] = {"play.thinking": config.play.thinking}
    design: dict[str, Thinking] = {"designer.thinking": config.designer.thinking, "hint.thinking": config.hint.thinking}
    if config.designer.model in (None, "frozen"):
        return play | design
    return design if author else play


def _check_tinker(config: RunConfig) -> None:
    """Raises ``ConfigError`` for what a Tinker server cannot do, before anything starts."""
    from spadework.policies.tinker.trainer import check_hyperparameters

    check_hyperparameters(hyperparameters(config.update, 0, config.run.cycles))
    sampled = {"play.temperature": config.play.temperature}
    if config.designer.environments and config.designer.train:
        sampled["designer.temperature"] = config.designer.temperature
    for key, value in sampled.items():
        if value != 1.0:
            raise ConfigError(f"{key} is {value}, but the Tinker API trains what was sampled at 1 only: set it to 1")
    if config.warmup.enabled:
        raise ConfigError(
            "warmup.enabled: a Tinker server starts from the model that it serves. Warm that up with the local engine, "
            "serve its folder in the cache, and set warmup.enabled = false"
        )
    if config.run.deterministic:
        raise ConfigError("run.deterministic: a Tinker server batches as it likes; set it to false")
    if config.designer.grammar:
        raise ConfigError("designer.grammar needs a local designer: a Tinker server cannot be bound to it")


def _tinker_engine(config: RunConfig) -> Engine:
    from spadework.policies.tinker.policy import TinkerOptions
    from spadework.policies.tinker.trainer import load_tinker

    options = TinkerOptions(
        base_url=config.tinker.base_url,
        lora_rank=config.model.lora_rank,
        reduction=config.tinker.reduction,
        deadline_seconds=config.tinker.deadline_seconds,
        max_length=config.model.max_length,
        check_versions=config.tinker.check_versions,
    )
    policy, trainer = load_tinker(config.model.name.removeprefix(TINKER), run_seed=config.run.seed, options=options)
    check_thinking(policy, _asked_thinking(config, author=False))
    return Engine(policy, trainer)


def build_endpoint(settings: EndpointSection, model: str, run_seed: int) -> Policy:
    """The model ``openai:NAME`` behind an endpoint. Raises ``ConfigError``."""
    from spadework.policies.server.openai import OpenAICompatPolicy

    return OpenAICompatPolicy(settings, model.removeprefix(ENDPOINT), run_seed)


async def build_policy(config: RunConfig, sandbox: Sandbox, note: Note) -> Policy:
    """The model of ``model.name`` for those who only ask it: an endpoint, or the policy of the warm engine."""
    if config.model.name.startswith(ENDPOINT):
        endpoint = build_endpoint(config.endpoint, config.model.name, config.run.seed)
        check_thinking(endpoint, _asked_thinking(config, author=False))
        return endpoint
    return (await build_warm_engine(config, sandbox, note)).policy


async def build_author(config: RunConfig, sandbox: Sandbox, note: Note) -> Policy | None:
    """Who designs and writes hints (``designer.model``); ``None`` where that is the model in training."""
    name = config.designer.model
    if name is None:
        return None
    if name.startswith(ENDPOINT):
        if config.designer.grammar:
            raise ConfigError("designer.grammar needs a local designer: an endpoint cannot be bound to it")
        endpoint = build_endpoint(config.designer.endpoint or config.endpoint, name, config.run.seed)
        check_thinking(endpoint, _asked_thinking(config, author=True))
        return endpoint
    if name == "frozen":
        return await build_policy(config, sandbox, note)
    return build_engine(config, name).policy


def build_human(ask: Callable[[str], str]) -> Policy:
    """A person who is shown a text by ``ask`` and replies."""
    from spadework.policies.human import HumanPolicy

    return HumanPolicy(ask)


def bundled_examples(config: RunConfig) -> tuple[ExampleEnvironment, ...]:
    """The examples of the config's domain, or those of its families of lessons."""
    if config.lessons.families is not None:
        return build_lessons(config).examples()
    return load_examples(find_domain(config.domain))


def build_lessons(config: RunConfig) -> WordLessons:
    """The families of ``lessons.families`` over the documents of the corpus. Raises ``ConfigError``."""
    corpus = build_corpus(config)
    documents = [corpus[place] for place in range(len(corpus))] if corpus is not None else []
    return WordLessons(lesson_families(config), documents)


def lesson_families(config: RunConfig) -> tuple[WordFamily, ...]:
    """The families of ``lessons.families``. Raises ``ConfigError``."""
    named = config.lessons.families
    if named is None:
        raise ConfigError(f"eval.pool = {LESSONS!r} needs lessons.families")
    return load_families() if named == "words" else load_families(Path(named))


def build_limits(config: RunConfig) -> Limits:
    """What an instance may use."""
    return Limits(
        cpu_seconds=config.sandbox.cpu_seconds,
        load_seconds=config.sandbox.load_seconds,
        wall_seconds=config.sandbox.wall_seconds,
        memory_mb=config.sandbox.memory_mb,
        reward_bound=config.validation.reward_bound,
        max_turns=config.play.max_turns,
    )


def build_corpus(config: RunConfig) -> Corpus | None:
    """The grounding documents; ``None`` when there are none."""
    if config.corpus.path is None or not config.corpus.enabled:
        return None
    bundled = {"examples": "corpus.jsonl", "scale": "scale.jsonl"}.get(config.corpus.path)
    path = shipped("examples") / bundled if bundled else Path(config.corpus.path)
    return Corpus(path, cache_dir() / "corpus", config.corpus.max_words)


def build_play(config: RunConfig, domain: str = "") -> PlaySettings:
    """How the agent's episodes are played; those of another ``domain`` without the prompt that is the config's own."""
    name = domain or config.domain
    play = config.play if name == config.domain else config.play.model_copy(update={"system": None, "few_shots": ()})
    return PlaySettings(
        opening=agent_opening(play, find_domain(name)),
        limits=build_limits(config),
        sampling=SamplingParams(
            config.play.max_tokens,
            temperature=config.play.temperature,
            top_p=config.play.top_p,
            top_k=config.play.top_k,
            thinking=config.play.thinking,
        ),
        max_episode_tokens=config.play.max_episode_tokens,
        return_type=config.agent.return_type,
        discount=config.agent.discount,
    )


def build_stages(config: RunConfig, sandbox: Sandbox, corpus: Corpus | None, author: Policy | None = None) -> Stages:
    """Every stage of a run; ``author`` designs where it is not the model in training.

    Raises ``ConfigError`` for an anchor or a pool that does not exist.
    """
    examples = bundled_examples(config) if config.pool.seed_examples or config.pool.anchors else ()
    anchors = _anchors(config, examples)
    source = _pool_source(config, anchors)
    memory = Memory(config.memory.size)
    seen = _seen_programs(config, [e.source for e in [*(example.environment for example in examples), *source]])
    fillers = [e.environment for e in examples if e.environment not in anchors] if config.pool.seed_examples else []
    return Stages(
        designer=_designer(config, sandbox, corpus, memory, seen, examples) if config.designer.environments else None,
        sandbox=sandbox,
        play=build_play(config),
        pool=Pool(config.designer.environments + config.drawn + config.pool.replay, anchors),
        memory=memory,
        ledger=Ledger(config.delay, config.designer.every),
        averages=SkillAverages(),
        seen=seen,
        alarm=CollapseAlarm(config.designer, text_diversity),
        fillers=fillers,
        fixed=_fixed_pool(config, source),
        climber=Climber(_controller(config)) if config.difficulty.controller != "off" else None,
        author=author,
    )


def _seen_programs(config: RunConfig, sources: Sequence[str]) -> SeenPrograms:
    """What a design may not copy; with vectors where nearness costs or pays something."""
    settings = config.validation
    near = None
    if settings.max_cosine is not None or config.reward.novelty:
        near = Neighbours(build_embedder(settings.embedder).embed, sources)
    return SeenPrograms(sources, near, settings.max_cosine)


def _fixed_pool(config: RunConfig, source: Sequence[Environment]) -> FixedPool | LevelledPool | None:
    pool = config.pool
    if not source:
        return None
    if config.difficulty.controller != "off":
        return LevelledPool(source, config.drawn, _controller(config), config.run.seed)
    return FixedPool(source, config.drawn, pool.replacement, config.run.seed)


def _controller(config: RunConfig) -> Controller:
    return Controller(config.difficulty)


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


async def build_warm_engine(config: RunConfig, sandbox: Sandbox, note: Note) -> Engine:
    """The engine, warmed up on the bundled examples first when the config asks for it; the result is cached."""
    if not config.warmup.enabled:
        return build_engine(config)
    examples = [e for e in bundled_examples(config) if e.level in config.warmup.levels]
    families = [family.model_dump_json() for family in lesson_families(config)] if config.lessons.families else []
    folder = cache_dir() / "warmup" / warmup_hash(config, examples, "\n".join([_versions(), *families]))
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = folder.with_suffix(".lock")
    async with lock_when_free(lock, lambda: note(f"warm-up: another process makes the same one; waiting for {lock}")):
        if not folder.exists():
            await _warm_up_into(folder, config, examples, sandbox, note)
    note(f"warm-up: {folder.name} (cached)")
    return build_engine(config, str(folder))


async def _warm_up_into(
    folder: Path, config: RunConfig, examples: Sequence[ExampleEnvironment], sandbox: Sandbox, note: Note
) -> None:
    engine = build_engine(config)
    limits, domain = build_limits(config), find_domain(config.domain)

    async def winning_plays(example: ExampleEnvironment) -> list[Play]:
        session = await sandbox.open(example.environment.source, limits)
        shadow = await sandbox.open(example.environment.source, limits)
        seeds = range(config.warmup.transcripts)
        plays = [await oracle(session, shadow, seed, domain, session.max_turns) for seed in seeds]
        await session.close()
        await shadow.close()
        return [play for play in plays if play.win]

    def on_step(done: int, total: int, loss: float) -> None:
        if done % max(1, total // 6) == 0:
            note(f"warm-up: step {done}/{total}, loss {loss:.3f}")

    try:
        if config.lessons.families is not None:
            rows = lesson_rows(engine.policy, config, build_lessons(config))
            note(f"warm-up: {len(rows)} rows of lessons, {config.warmup.epochs} epochs")
        else:
            rows = await warmup_rows(engine.policy, config, examples, winning_plays)
            note(f"warm-up: {len(rows)} rows of {len(examples)} examples, {config.warmup.epochs} epochs")
        await warm_up(engine.trainer, config, rows, on_step)
        temporary = folder.with_name(f".{folder.name}.tmp")
        engine.trainer.export(temporary)
        temporary.replace(folder)
    finally:
        await engine.policy.close()


def _versions() -> str:
    """Versions of what the warm-up's numbers depend on."""
    names = ("spadework", "torch", "transformers")
    try:
        return " ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
    except importlib.metadata.PackageNotFoundError as error:
        raise _needs_local(str(error.name)) from None


def _needs_local(missing: str) -> ConfigError:
    return ConfigError(f"this model needs the extra `local` ({missing} is missing): pip install 'spadework[local]'")


def _anchors(config: RunConfig, examples: Iterable[ExampleEnvironment]) -> tuple[Environment, ...]:
    known = {example.name: example.environment for example in examples}
    missing = [name for name in config.pool.anchors if name not in known]
    if missing:
        raise ConfigError(f"pool.anchors: no bundled example is named {missing[0]!r}; there are {', '.join(known)}")
    return tuple(known[name] for name in config.pool.anchors)


def _pool_source(config: RunConfig, anchors: Iterable[Environment]) -> list[Environment]:
    """What a run draws from: the pool's environments of its domain, anchors left out."""
    if config.pool.source is None:
        return []
    environments = [e for e in load_pool(Path(config.pool.source)) if e.domain == config.domain]
    playing = {anchor.id for anchor in anchors}
    free = [environment for environment in environments if environment.id not in playing]
    repeats = config.difficulty.controller != "off"  # then each draw is one of its own
    if len(free) < (1 if repeats else config.drawn):
        raise ConfigError(
            f"{'pool.per_cycle' if config.pool.mix is None else 'pool.mix'} draws {config.drawn} environments a cycle, "
            f"but {config.pool.source} holds {len(free)} of the domain {config.domain} that are no anchors"
        )
    return free


def _designer(
    config: RunConfig,
    sandbox: Sandbox,
    corpus: Corpus | None,
    memory: Memory,
    seen: SeenPrograms,
    examples: Sequence[ExampleEnvironment],
) -> Designer:
    domain = find_domain(config.domain)
    checks = RuntimeChecks(
        limits=build_limits(config),
        seeds=tuple(range(config.validation.seeds)),
        panel=config.validation.panel,
        grading=False,
        levels=config.designer.difficulty,
    )
    validator = Validator(sandbox, domain, checks, seen, refuse_copies=config.validation.refuse_copies)
    hints = HintWriter(config.hint, domain)

    def draw_examples(skill: str, rng: random.Random, fits: Callable[[str], bool]) -> tuple[Example, ...]:
        if not config.memory.enabled:
            return ()
        drawn = memory.examples(skill, rng, config.memory.positive, config.memory.negative, fits)
        if drawn or not config.pool.seed_examples or not config.memory.positive:
            return drawn
        bundled = [e.environment for e in examples if e.environment.skill == skill and e.level != "hard"]
        return tuple(
            Example(e.id, e.source, "good") for e in rng.sample(bundled, min(1, len(bundled))) if fits(e.source)
        )

    document = corpus.sample if corpus is not None else None
    check = ModelCheck(config.validation, domain) if config.validation.model_check else None
    tools = DesignTools(
        document=document,
        examples=draw_examples,
        validate=validator,
        hint=hints,
        check=check,
        document_tokens=config.corpus.max_tokens,
    )
    return Designer(config.designer, config.memory, domain, config.run.seed, tools)
