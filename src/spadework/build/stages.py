"""The stages of a run: designer, pool, play and scores."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from spadework.analysis.diversity import text_diversity
from spadework.build.material import bundled_examples
from spadework.build.sandbox import build_limits
from spadework.config import RunConfig
from spadework.corpus.documents import Corpus
from spadework.domains.prompt_settings import configured_domain
from spadework.envs.check.runtime import RuntimeChecks
from spadework.envs.registry import find_domain
from spadework.envs.sandbox.base import Sandbox
from spadework.errors import ConfigError
from spadework.policies.base import Policy, SamplingParams
from spadework.policies.embedding import build_embedder
from spadework.rollout import PlaySettings
from spadework.selfplay.design.collapse import CollapseAlarm
from spadework.selfplay.design.designer import Designer, DesignTools
from spadework.selfplay.design.examples import ExampleEnvironment
from spadework.selfplay.design.hints import HintWriter
from spadework.selfplay.design.memory import Memory
from spadework.selfplay.design.model_check import ModelCheck
from spadework.selfplay.design.novelty import Neighbours, SeenPrograms
from spadework.selfplay.design.prompts import agent_opening
from spadework.selfplay.design.validation import Validator
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
from spadework.selfplay.stages import Stages
from spadework.types import Environment


def check_parts(config: RunConfig, where: str) -> None:
    """Raises ``ConfigError``, which begins with ``where``, for a reward, estimator or average that cannot be built."""
    build_reward(config.reward, where)
    build_advantage(config.agent, where)
    build_average(config.update, where)


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
    domain = configured_domain(config)
    checks = RuntimeChecks(
        limits=build_limits(config),
        seeds=config.validation.seeds,
        panel=config.validation.panel,
        grading=config.validation.grading,
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
