"""What a domain does with a config: it supplies what is left unset, and refuses what it cannot do."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from spadework.config import DesignerSection, RunConfig
from spadework.domains.prompt_settings import prompt_problems
from spadework.envs.domain import Briefing, Domain
from spadework.envs.registry import find_domain
from spadework.errors import ConfigError

_PROMPTS = ("designer.md", "designer_system.md", "hint.md", "agent_system.md")
_SKELETON_PROMPTS = ("designer_skeleton.md", "designer_skeleton_system.md", "head.md", "hint_skeleton.md")


def settle(config: RunConfig, line: Callable[[str, str], str]) -> RunConfig:
    """The config with its domain's skills where it names none; ``spadework.config.files`` calls it for every config.

    A config that is settled already stays as it is.

    Args:
        config: as it was given.
        line: (key, what is wrong) -> a line of the error, which names the origin of that setting.

    Raises:
        ConfigError: there is no such domain, or it has nothing for some setting; a line each says how to mend it.
    """
    try:
        domain = find_domain(config.domain)
    except ConfigError as error:
        raise ConfigError(line("domain", str(error))) from None
    problems = list(_problems(config, domain))
    if problems:
        raise ConfigError("\n".join(line(key, text) for key, text in problems))
    return config.model_copy(update={"designer": settle_designer(config.designer, domain)})


def settle_designer(settings: DesignerSection, domain: Domain) -> DesignerSection:
    """The designer's settings with the domain's skills, and as many of them active as the domain says."""
    briefing = domain.briefing
    skills = settings.skills or tuple(briefing.skills)
    active = settings.active_skills or min(briefing.active_skills or len(skills), len(skills))
    return settings.model_copy(update={"skills": skills, "active_skills": active})


def _problems(config: RunConfig, domain: Domain) -> Iterator[tuple[str, str]]:
    """(key, what is wrong with it) of every setting that the domain has nothing for."""
    briefing, designer = domain.briefing, config.designer
    for name in _PROMPTS:
        if not briefing.has(name):
            yield "domain", f"{domain.name!r} has no prompt {name}; write {briefing.prompts.joinpath(name)}"
    if designer.grammar and not briefing.has("skeleton.lark"):
        yield "designer.grammar", f"{_has_no(domain, 'grammar of skeleton designs')}; set it to false"
    own_check = config.validation.model_check_prompt is not None
    if config.validation.model_check and not own_check and not briefing.has("model_check.md"):
        yield "validation.model_check", f"{_has_no(domain, 'prompt for it')}; set it to false"
    if designer.skeleton and (missing := _missing(briefing)):
        yield "designer.skeleton", f"{_has_no(domain, 'prompt ' + missing)}; set it to false"
    if briefing.examples is None:
        for key, wanted, empty in (
            ("warmup.enabled", config.warmup.enabled, "false"),
            ("pool.seed_examples", config.pool.seed_examples, "false"),
            ("pool.anchors", config.pool.anchors, "[]"),
        ):
            if wanted:
                yield key, f"{_has_no(domain, 'example environments')}; set it to {empty}"
    yield from prompt_problems(config, domain)
    skills = settle_designer(designer, domain).skills
    if (designer.active_skills or 0) > len(skills):
        yield "designer.active_skills", f"it is {designer.active_skills}, but there are {len(skills)} skills"


def _missing(briefing: Briefing) -> str:
    return next((name for name in _SKELETON_PROMPTS if not briefing.has(name)), "")


def _has_no(domain: Domain, what: str) -> str:
    return f"the domain {domain.name!r} has no {what}"
