"""Config files: read, extended, overridden; and what is wrong with one, with the valid key that a wrong one meant.

Every config that a user gives passes ``_validated``, where its domain fills what it leaves unset and refuses what the
domain cannot do. Only ``parse_stored_config`` leaves the domain out, so that a run can be read without the plug-in that
its domain comes from.
"""

from __future__ import annotations

import copy
import difflib
import importlib
import tomllib
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from spadework.config import OpenSection, RunConfig, Section
from spadework.config.prompt_files import prompt_path, read_prompt, with_prompt_texts
from spadework.config.renamed import as_before, with_current_names
from spadework.errors import ConfigError, ConfigWarning
from spadework.resources import shipped
from spadework.text import decode

Origin = Callable[[tuple[int | str, ...]], str]
"""Path of a setting -> where it comes from; the empty path asks for the config as a whole."""


def load_config(name: str, overrides: Sequence[str] = ()) -> RunConfig:
    """Read a TOML file, or a shipped config by its name, and apply ``section.key=value`` overrides.

    A file may begin with ``extends = "other.toml"``: a file beside it, or the name of a shipped config. Old names of
    settings are understood, with a ``ConfigWarning`` each. Raises ``ConfigError``.
    """
    return _with_overrides(read_tables(name), overrides, str(find_config(name)))


def override_config(config: RunConfig, overrides: Sequence[str], where: str = "config") -> RunConfig:
    """The config with ``section.key=value`` overrides; ``where`` names its origin in errors. Raises ``ConfigError``."""
    return _with_overrides(dump_config(config), overrides, where)


def default_config() -> RunConfig:
    """The config of a file that says nothing."""
    return parse_config({}, "the defaults")


def parse_config(data: Mapping[str, Any], where: str) -> RunConfig:
    """Build the config from plain data; ``where`` names its origin in errors. Raises ``ConfigError``.

    Prompt files that it names are looked for in the current folder.
    """
    return _validated(_with_prompts(data, Path(), where), lambda loc: where)


def parse_stored_config(data: Mapping[str, Any], where: str) -> RunConfig:
    """Build the config that a run has stored, perhaps under old names of settings.

    A setting that is gone and was not at its default gives a ``ConfigWarning``. Raises ``ConfigError``.
    """
    current, used = with_current_names(data)
    for old in used:
        if old.loses_something:
            _warn(f"{where}: {old}")
    return _built(as_before(current), lambda loc: where)


def read_tables(name: str) -> dict[str, Any]:
    """The tables of a config file, or of a shipped config, over those that it extends. Raises ``ConfigError``."""
    return _read(find_config(name), ())


def dump_config(config: RunConfig) -> dict[str, Any]:
    """The resolved config as plain data that JSON and ``parse_config`` take."""
    return config.model_dump(mode="json")


def shipped_configs() -> dict[str, Path]:
    """Name -> file of every config that comes with the package, in alphabetical order."""
    folder = shipped("configs")
    names = {str(path.relative_to(folder).with_suffix("")): path for path in folder.rglob("*.toml")}
    return dict(sorted(names.items()))


def find_config(name: str) -> Path:
    """The file itself, or the shipped config of that name (``laptop`` or ``laptop.toml``). Raises ``ConfigError``."""
    path = Path(name)
    if path.is_file():
        return path
    known = shipped_configs()
    found = known.get(name.removesuffix(".toml"))
    if found is None:
        raise ConfigError(f"{name}: no such config file, and no shipped config of that name ({', '.join(known)})")
    return found


def _read(path: Path, chain: tuple[Path, ...]) -> dict[str, Any]:
    """The tables of a file over those of the files that it extends; ``chain`` holds the files that led here."""
    if path.resolve() in chain:
        raise ConfigError(f"{path}: extends itself")
    try:
        data = tomllib.loads(decode(path.read_bytes()))
    except ValueError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None
    base: dict[str, Any] = {}
    if "extends" in data:
        base = _read(_extended(path, str(data.pop("extends"))), (*chain, path.resolve()))
    current, used = with_current_names(data)
    for old in used:
        _warn(f"{path}: {old}")
    return _merge(base, _with_prompts(current, path.parent, str(path)))


def _with_prompts(data: Mapping[str, Any], folder: Path, where: str) -> dict[str, Any]:
    try:
        return with_prompt_texts(data, folder)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _extended(path: Path, name: str) -> Path:
    """The file that ``path`` extends: one beside it, else a shipped config."""
    beside = path.parent / name
    if beside.is_file():
        return beside
    known = shipped_configs()
    found = known.get(name.removesuffix(".toml"))
    if found is None:
        raise ConfigError(
            f"{path}: extends {name!r}, but there is no file {beside}, and no shipped config has that name "
            f"({', '.join(known)})"
        )
    return found


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        merged[key] = _merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def _with_overrides(data: Mapping[str, Any], overrides: Sequence[str], where: str) -> RunConfig:
    """The config of ``data`` with the overrides; an error names the override that brought it in, else ``where``."""
    changed: dict[str, Any] = copy.deepcopy(dict(data))
    givers: dict[tuple[str, ...], str] = {}
    for override in overrides:
        given, value = _parse_override(override)
        path = _current_path(given, override)
        if path is not None:
            _put(changed, path, _read_override(path, value, override), override)
            givers[path] = f"--set {override}"

    def origin(loc: tuple[int | str, ...]) -> str:
        for path, given in reversed(givers.items()):
            if (loc and loc == path[: len(loc)]) or path == loc[: len(path)]:
                return given
        if not loc and overrides and _is_valid(data):
            return "--set"  # settings that contradict each other, which they did not without the overrides
        return where

    return _validated(changed, origin)


def _parse_override(override: str) -> tuple[tuple[str, ...], Any]:
    """The path and the value of ``a.b=value``. A value that is no TOML is taken as text."""
    key, sign, text = override.partition("=")
    if not sign or not key.strip():
        raise ConfigError(f"--set {override}: write it as section.key=value")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    return tuple(key.strip().split(".")), value


def _current_path(path: tuple[str, ...], override: str) -> tuple[str, ...] | None:
    """The path under the names of today, with a warning where that is another; ``None`` for a setting that is gone."""
    nested: Any = ""
    for name in reversed(path):
        nested = {name: nested}
    nested, used = with_current_names(nested)
    for old in used:
        _warn(f"--set {override}: {old}")
    found = []
    while isinstance(nested, dict):
        if not nested:
            return None
        ((name, nested),) = nested.items()
        found.append(name)
    return tuple(found)


def _read_override(path: tuple[str, ...], value: Any, override: str) -> Any:
    """The value of an override; of a prompt the text of its file, which is looked for in the current folder."""
    try:
        return read_prompt(".".join(path), value, Path())
    except ConfigError as error:
        raise ConfigError(f"--set {override}: {error}") from None


def _put(data: dict[str, Any], path: tuple[str, ...], value: Any, override: str) -> None:
    *sections, last = path
    for section in sections:
        if data.get(section) is None:
            data[section] = {}
        data = data[section]
        if not isinstance(data, dict):
            raise ConfigError(f"--set {override}: {section} is not a section")
    data[last] = value


def _validated(data: Mapping[str, Any], origin: Origin) -> RunConfig:
    """The config as its domain settles it.

    ``domains`` stands on a floor above this one, so it is found by name, as plug-ins are.
    """
    settle = importlib.import_module("spadework.domains.settings").settle

    def line(key: str, text: str) -> str:
        file = prompt_path(data, key)
        return _line(tuple(key.split(".")), text if file is None else f"{file}: {text}", origin)

    return cast("RunConfig", settle(_built(data, origin), line))


def _built(data: Mapping[str, Any], origin: Origin) -> RunConfig:
    try:
        return RunConfig.model_validate(_tuples(data))
    except ValidationError as error:
        raise ConfigError("\n".join(_explain(problem, origin) for problem in error.errors())) from None


def _is_valid(data: Mapping[str, Any]) -> bool:
    try:
        RunConfig.model_validate(_tuples(data))
    except ValidationError:
        return False
    return True


def _tuples(value: Any) -> Any:
    """TOML and JSON have arrays where the config has tuples; strict mode tells them apart."""
    if isinstance(value, Mapping):
        return {key: _tuples(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return tuple(_tuples(item) for item in value)
    return value


def _explain(problem: ErrorDetails, origin: Origin) -> str:
    loc, message = problem["loc"], problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden" or _is_stray_key(loc):
        message = f"no such key{_nearest(loc)}"
    return _line(loc, message, origin)


def _line(loc: tuple[int | str, ...], message: str, origin: Origin) -> str:
    """One line of a ``ConfigError``: where the setting ``loc`` comes from, its key, and what is wrong."""
    key, where = ".".join(str(part) for part in loc), origin(loc)
    return f"{where}: {message}" if not key or where.startswith(f"--set {key}=") else f"{where}: {key}: {message}"


def _is_stray_key(loc: tuple[int | str, ...]) -> bool:
    """Whether a key that is no table stands among the tables of an open section."""
    section = RunConfig.model_fields.get(str(loc[0])) if len(loc) == 2 else None
    kind = section.annotation if section is not None else None
    return isinstance(kind, type) and issubclass(kind, OpenSection) and str(loc[1]) not in kind.model_fields


def _nearest(loc: tuple[int | str, ...]) -> str:
    """The valid key that a misspelt one most likely meant, or all keys of its section."""
    names = _keys(RunConfig, "")
    full = ".".join(str(part) for part in loc)
    close = difflib.get_close_matches(full, names, n=1, cutoff=0.6) or [
        path for path, key in names.items() if key == str(loc[-1])
    ]
    return f"; the nearest valid key is {close[0]}" if close else f"; valid here: {', '.join(_siblings(loc, names))}"


def _keys(model: type[Section], prefix: str) -> dict[str, str]:
    """The path of every key and section below ``prefix``, and its last part."""
    names: dict[str, str] = {}
    for key, info in model.model_fields.items():
        names[prefix + key] = key
        if isinstance(info.annotation, type) and issubclass(info.annotation, Section):
            names |= _keys(info.annotation, f"{prefix}{key}.")
    return names


def _siblings(loc: tuple[int | str, ...], names: Mapping[str, str]) -> list[str]:
    prefix = "".join(f"{part}." for part in loc[:-1])
    return [path for path in names if path.startswith(prefix) and "." not in path.removeprefix(prefix)]


def _warn(text: str) -> None:
    warnings.warn(text, ConfigWarning, stacklevel=2)
