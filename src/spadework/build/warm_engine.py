"""The engine after its warm-up, and whoever else speaks in a run."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Sequence
from pathlib import Path

from spadework.build.engine import ENDPOINT, Engine, asked_thinking, build_endpoint, build_engine, needs_local
from spadework.build.material import build_lessons, bundled_examples, lesson_families
from spadework.build.sandbox import build_limits
from spadework.config import RunConfig
from spadework.envs.check.players import Play, oracle
from spadework.envs.registry import find_domain
from spadework.envs.sandbox.base import Sandbox
from spadework.errors import ConfigError
from spadework.lessons.warmup import lesson_rows
from spadework.policies.base import Policy
from spadework.policies.thinking import check_thinking
from spadework.resources import cache_dir
from spadework.runs.files import lock_when_free
from spadework.selfplay.design.examples import ExampleEnvironment
from spadework.selfplay.design.warmup import warm_up, warmup_hash, warmup_rows

Note = Callable[[str], None]


async def build_policy(config: RunConfig, sandbox: Sandbox, note: Note) -> Policy:
    """The model of ``model.name`` for those who only ask it: an endpoint, or the policy of the warm engine."""
    if config.model.name.startswith(ENDPOINT):
        endpoint = build_endpoint(config.endpoint, config.model.name, config.run.seed)
        check_thinking(endpoint, asked_thinking(config, author=False))
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
        check_thinking(endpoint, asked_thinking(config, author=True))
        return endpoint
    if name == "frozen":
        return await build_policy(config, sandbox, note)
    return build_engine(config, name).policy


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
        raise needs_local(str(error.name)) from None
