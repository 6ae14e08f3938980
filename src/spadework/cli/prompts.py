"""``spadework prompts``: list the prompts that a config uses with their variables, and print them."""

from __future__ import annotations

import argparse

from spadework.config import RunConfig
from spadework.config.files import default_config, load_config, override_config
from spadework.domains.prompt_settings import PromptSetting, configured_domain, prompt_settings
from spadework.envs.domain import Domain
from spadework.errors import ConfigError
from spadework.selfplay.design.prompts import levels_prompt


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="the settings that replace a prompt, with the variables of each")
    listing.add_argument("config", metavar="CONFIG", nargs="?", help="a TOML file, or the name of a shipped config")
    showing = actions.add_parser("show", help="the text of one prompt, or of all")
    showing.add_argument("words", metavar="[CONFIG] [NAME]", nargs="*", help="a config, then the name of a setting")
    for action in (listing, showing):
        action.add_argument(
            "--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="override a setting"
        )


def run(args: argparse.Namespace) -> int:
    """Run the verb."""
    if args.action == "list":
        config = _config(args.config, args.set)
        for prompt in _prompts(config):
            print(_line(prompt))
        return 0
    name, wanted = _read_words(args.words)
    config = _config(name, args.set)
    domain, prompts = configured_domain(config), _prompts(config)
    if wanted is None:
        print("\n\n".join(f"# {_line(prompt)}\n\n{_text(prompt, domain)}" for prompt in prompts))
        return 0
    for prompt in prompts:
        if prompt.key == wanted:
            print(_text(prompt, domain))
            return 0
    raise ConfigError(f"{wanted}: this config has no such prompt; it has {', '.join(one.key for one in prompts)}")


def _read_words(words: list[str]) -> tuple[str | None, str | None]:
    """(config, name of a prompt) of what was given; a word alone is a prompt's name where it begins with a section."""
    if len(words) > 2:
        raise ConfigError(f"prompts show takes a config and the name of one prompt, not {len(words)} words")
    if len(words) == 1:
        section, dot, _ = words[0].partition(".")
        is_key = bool(dot) and section in RunConfig.model_fields
        return (None, words[0]) if is_key else (words[0], None)
    return (words[0], words[1]) if words else (None, None)


def _config(name: str | None, overrides: list[str]) -> RunConfig:
    if name is not None:
        return load_config(name, overrides)
    return override_config(default_config(), overrides, "the defaults")


def _prompts(config: RunConfig) -> list[PromptSetting]:
    """The config's prompts, without those that neither it nor its domain has."""
    briefing = configured_domain(config).briefing
    return [one for one in prompt_settings(config) if one.file == "levels.md" or briefing.has(one.file)]


def _text(prompt: PromptSetting, domain: Domain) -> str:
    if prompt.file == "levels.md":
        return levels_prompt(domain)
    return domain.briefing.text(prompt.file).strip()


def _line(prompt: PromptSetting) -> str:
    """The setting, whose text it is, and its variables."""
    whose = "the domain's" if prompt.text is None else "the config's own"
    parts = [f"{prompt.key}: {whose}"]
    if prompt.required:
        parts.append(f"must use {_names(prompt.required)}")
    if prompt.optional:
        parts.append(f"may use {_names(prompt.optional)}")
    return "; ".join(parts)


def _names(variables: tuple[str, ...]) -> str:
    return ", ".join(f"${name}" for name in variables)
