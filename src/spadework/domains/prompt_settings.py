"""The prompts that a config may replace: which setting stands for which file of a domain, and its variables."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from string import Template

from spadework.config import RunConfig
from spadework.envs.domain import Briefing, Domain
from spadework.envs.registry import find_domain


@dataclass(frozen=True, slots=True)
class PromptSetting:
    """A prompt as a config sees it."""

    key: str
    """The setting that replaces it."""
    file: str
    """Its file among a domain's prompts."""
    text: str | None
    """The config's own text; ``None`` where the domain's stands."""
    required: tuple[str, ...] = ()
    """Variables that a text must use."""
    optional: tuple[str, ...] = ()
    """Further variables that it may use."""
    verbatim: bool = False
    """Whether it is sent as it stands, so that a ``$`` in it means a dollar sign."""

    @property
    def variables(self) -> tuple[str, ...]:
        """All variables that the prompt knows."""
        return (*self.required, *self.optional)

    def problem(self, text: str) -> str:
        """What is wrong with a text in the place of this prompt, in one line; empty where nothing is."""
        if self.verbatim:
            return ""
        template = Template(text)
        if not template.is_valid():
            return "a $ stands before no name; write $$ for a dollar sign"
        used = set(template.get_identifiers())
        known = ", ".join(f"${name}" for name in self.variables)
        for name in sorted(used - set(self.variables)):
            return f"nothing fills ${name}; the variables are {known}; write $$ for a dollar sign"
        for name in self.required:
            if name not in used:
                return f"it does not use ${name}, without which the model is not told what to do; it must use " + (
                    ", ".join(f"${one}" for one in self.required)
                )
        return ""


def prompt_settings(config: RunConfig, domain: Domain | None = None) -> tuple[PromptSetting, ...]:
    """The prompts that a run of this config uses, in the order in which a reader meets them.

    A skeleton designer has prompts of its own for design and hint; a setting stands for the one in use.
    """
    return tuple(_settings(config, domain or find_domain(config.domain)))


def _settings(config: RunConfig, domain: Domain) -> Iterator[PromptSetting]:
    designer, skeleton = config.designer, config.designer.skeleton
    system = "designer_skeleton_system.md" if skeleton else "designer_system.md"
    yield PromptSetting("designer.system_prompt", system, designer.system_prompt, verbatim=True)
    if skeleton:
        places = ("skill", "title", "variant")
        yield PromptSetting("designer.prompt", "designer_skeleton.md", designer.prompt, ("document",), places)
        yield PromptSetting("designer.head_prompt", "head.md", designer.head_prompt, ("name",))
        yield PromptSetting("hint.prompt", "hint_skeleton.md", config.hint.prompt, verbatim=True)
    else:
        task = domain.briefing.draw_task(0)
        places = ("form", *(task.places if task is not None else ()))
        levels = ("levels",)
        required = ("skill", "document", "examples", *(levels if designer.difficulty else ()))
        optional = (*(() if designer.difficulty else levels), *places)
        yield PromptSetting("designer.prompt", "designer.md", designer.prompt, required, optional)
        form = f"designer_{designer.form}.md"
        yield PromptSetting("designer.form_prompt", form, designer.form_prompt, verbatim=True)
        yield PromptSetting("designer.levels_prompt", "levels.md", designer.levels_prompt, verbatim=True)
        yield PromptSetting("hint.prompt", "hint.md", config.hint.prompt, ("source",), ("max_words",))
    check = config.validation.model_check_prompt
    yield PromptSetting("validation.model_check_prompt", "model_check.md", check, ("source",))
    yield PromptSetting("play.system", "agent_system.md", config.play.system, verbatim=True)


def prompt_problems(config: RunConfig, domain: Domain) -> Iterator[tuple[str, str]]:
    """(key, what is wrong with it) of every prompt that cannot be filled, and of every one that nothing uses."""
    used = prompt_settings(config, domain)
    for setting in used:
        if setting.text is not None and (problem := setting.problem(setting.text)):
            yield setting.key, problem
    designer = config.designer
    if designer.head_prompt is not None and not designer.skeleton:
        yield "designer.head_prompt", "only skeleton designs are given a head: set designer.skeleton = true"
    for key, text in (("form_prompt", designer.form_prompt), ("levels_prompt", designer.levels_prompt)):
        if text is not None and designer.skeleton:
            yield f"designer.{key}", "skeleton designs have no such prompt: set designer.skeleton = false"


def own_prompts(config: RunConfig) -> dict[str, str]:
    """File of the domain -> the config's own text in its place."""
    return {setting.file: setting.text for setting in prompt_settings(config) if setting.text is not None}


def configured_domain(config: RunConfig) -> Domain:
    """The config's domain with the config's own prompts in the place of the domain's. Raises ``ConfigError``."""
    domain, own = find_domain(config.domain), own_prompts(config)
    if not own:
        return domain
    briefing: Briefing = dataclasses.replace(domain.briefing, own={**domain.briefing.own, **own})
    return dataclasses.replace(domain, briefing=briefing)
