"""The model that speaks and learns: local, behind an endpoint, on a Tinker server, or scripted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from spadework.config import EndpointSection, RunConfig
from spadework.envs.registry import find_domain
from spadework.errors import ConfigError
from spadework.policies.base import Policy, Trainer
from spadework.policies.hyperparameters import hyperparameters
from spadework.policies.thinking import Thinking, check_thinking

ENDPOINT = "openai:"
"""Begins the name of a model that a Tinker server samples and trains."""
TINKER = "tinker:"
"""Begins the name of a model that a Tinker server samples and trains."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A model that speaks and learns."""

    policy: Policy
    trainer: Trainer


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
        raise needs_local(str(error.name)) from None
    options = LocalOptions(
        slots=config.model.slots,
        parked=config.model.parked,
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
    check_thinking(engine.policy, asked_thinking(config, author=name == config.designer.model))
    return engine


def asked_thinking(config: RunConfig, author: bool) -> dict[str, Thinking]:
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
    check_thinking(policy, asked_thinking(config, author=False))
    return Engine(policy, trainer)


def build_endpoint(settings: EndpointSection, model: str, run_seed: int) -> Policy:
    """The model ``openai:NAME`` behind an endpoint. Raises ``ConfigError``."""
    from spadework.policies.server.openai import OpenAICompatPolicy

    return OpenAICompatPolicy(settings, model.removeprefix(ENDPOINT), run_seed)


def build_human(ask: Callable[[str], str]) -> Policy:
    """A person who is shown a text by ``ask`` and replies."""
    from spadework.policies.human import HumanPolicy

    return HumanPolicy(ask)


def needs_local(missing: str) -> ConfigError:
    """The error that names the extra of the local engine, of which the package ``missing`` is not installed."""
    return ConfigError(f"this model needs the extra `local` ({missing} is missing): pip install 'spadework[local]'")
