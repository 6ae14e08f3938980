"""What a domain does with a config: it supplies what is left unset, and refuses what it cannot do."""

from __future__ import annotations

from collections.abc import Iterator

from spadework.config import DesignerSection, RunConfig
from spadework.envs.domain import Briefing, Domain
from spadework.envs.registry import find_domain
from spadework.errors import ConfigError

_PROMPTS = ("designer.md", "designer_system.md", "hint.md", "agent_system.md")
_SKELETON_PROMPTS = ("designer_skeleton.md", "designer_skeleton_system.md", "head.md", "hint_skeleton.md")


def settle(config: RunConfig, where: str = "") -> RunConfig:
    """The config with its domain's skills where it names none; ``where`` names its origin in errors.

    A config that is settled already stays as it is. Raises ``ConfigError`` for an unknown domain, with the nearest
    name, and for settings that the domain has nothing for, with the key and the fix.
    """
    prefix = f"{where}: " if where else ""
    try:
        domain = find_domain(config.domain)
    except ConfigError as error:
        raise ConfigError(f"{prefix}domain: {error}") from None
    problems = list(_problems(config, domain))
    if problems:
        raise ConfigError("\n".join(f"{prefix}{problem}" for problem in problems))
    return config.model_copy(update={"designer": settle_designer(config.designer, domain)})


def settle_designer(settings: DesignerSection, domain: Domain) -> DesignerSection:
    """The designer's settings with the domain's skills, and as many of them active as the domain says."""
    briefing = domain.briefing
    skills = settings.skills or tuple(briefing.skills)
    active = settings.active_skills or min(briefing.active_skills or len(skills), len(skills))
    return settings.model_copy(update={"skills": skills, "active_skills": active})


def _problems(config: RunConfig, domain: Domain) -> Iterator[str]:
    briefing, designer = domain.briefing, config.designer
    for name in _PROMPTS:
        if not briefing.has(name):
            yield f"domain: {domain.name!r} has no prompt {name}; write {briefing.prompts.joinpath(name)}"
    if designer.grammar and not briefing.has("skeleton.lark"):
        yield f"designer.grammar: {_has_no(domain, 'grammar of skeleton designs')}; set it to false"
    if config.validation.model_check and not briefing.has("model_check.md"):
        yield f"validation.model_check: {_has_no(domain, 'prompt for it')}; set it to false"
    if designer.skeleton and (missing := _missing(briefing)):
        yield f"designer.skeleton: {_has_no(domain, 'prompt ' + missing)}; set it to false"
    if briefing.examples is None and (config.warmup.enabled or config.pool.seed_examples or config.pool.anchors):
        yield f"warmup.enabled, pool.seed_examples and pool.anchors: {_has_no(domain, 'example environments')}"
    skills = settle_designer(designer, domain).skills
    if (designer.active_skills or 0) > len(skills):
        yield f"designer.active_skills is {designer.active_skills}, but there are {len(skills)} skills"


def _missing(briefing: Briefing) -> str:
    return next((name for name in _SKELETON_PROMPTS if not briefing.has(name)), "")


def _has_no(domain: Domain, what: str) -> str:
    return f"the domain {domain.name!r} has no {what}"
