"""Prompts of one's own: a setting names a file, and the config holds the text of that file.

A run stores its config, so resume, replay and rescore need no prompt file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spadework.errors import ConfigError
from spadework.text import decode

PROMPT_KEYS = (
    "designer.prompt",
    "designer.system_prompt",
    "designer.form_prompt",
    "designer.levels_prompt",
    "designer.head_prompt",
    "hint.prompt",
    "validation.model_check_prompt",
    "play.system",
)
"""The settings that hold a prompt."""
_SUFFIXES = (".md", ".txt")


class FileText(str):
    """The text of a prompt file; ``path`` names the file in errors."""

    path: Path

    @classmethod
    def read(cls, path: Path, key: str) -> FileText:
        """The text without blank ends. Raises ``ConfigError`` where the file is missing or empty."""
        try:
            text = cls(decode(path.read_bytes()).strip())
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ConfigError(f"{key}: the prompt file {path} cannot be read: {reason}") from None
        if not text:
            raise ConfigError(f"{key}: the prompt file {path} is empty")
        text.path = path
        return text


def names_file(value: object) -> bool:
    """Whether a prompt setting names a file: one line that ends in ``.md`` or ``.txt``. Anything else is a text."""
    return isinstance(value, str) and "\n" not in value and value.endswith(_SUFFIXES)


def read_prompt(key: str, value: Any, folder: Path) -> Any:
    """The value of the setting ``key``, read from its file where it names one (relative to ``folder``)."""
    if key in PROMPT_KEYS and not isinstance(value, FileText) and names_file(value):
        return FileText.read(folder / Path(value).expanduser(), key)
    return value


def with_prompt_texts(data: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The tables of a config with the texts of the prompt files that they name, relative to ``folder``."""
    changed = dict(data)
    for key in PROMPT_KEYS:
        section, _, name = key.partition(".")
        table = changed.get(section)
        if isinstance(table, Mapping) and name in table:
            changed[section] = {**table, name: read_prompt(key, table[name], folder)}
    return changed


def prompt_path(data: Mapping[str, Any], key: str) -> Path | None:
    """The file that the setting ``key`` of a config's tables was read from; ``None`` where it came from no file."""
    section, _, name = key.partition(".")
    table = data.get(section)
    value = table.get(name) if isinstance(table, Mapping) else None
    return value.path if isinstance(value, FileText) else None
