"""Config files: read, extended, overridden; and what is wrong with one, with the valid key that a wrong one meant."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from spadework.config import RunConfig, Section
from spadework.errors import ConfigError
from spadework.resources import shipped
from spadework.text import decode


def load_config(name: str, overrides: Sequence[str] = ()) -> RunConfig:
    """Read a TOML file, or a shipped config by its name, and apply ``section.key=value`` overrides.

    A file may begin with ``extends = "other.toml"`` (relative to itself). Raises ``ConfigError``.
    """
    path = find_config(name)
    data = _read(path, ())
    for override in overrides:
        _apply(data, override)
    return parse_config(data, str(path))


def override_config(config: RunConfig, overrides: Sequence[str]) -> RunConfig:
    """The config with ``section.key=value`` overrides. Raises ``ConfigError``."""
    data = dump_config(config)
    for override in overrides:
        _apply(data, override)
    return parse_config(data, "--set")


def parse_config(data: Mapping[str, Any], where: str) -> RunConfig:
    """Build the config from plain data; ``where`` names its origin in errors."""
    try:
        return RunConfig.model_validate(_tuples(data))
    except ValidationError as error:
        raise ConfigError(_explain(error, where)) from None


def dump_config(config: RunConfig) -> dict[str, Any]:
    """The resolved config as plain data that JSON and ``parse_config`` take."""
    return config.model_dump(mode="json")


def config_changes(old: RunConfig, new: RunConfig) -> list[str]:
    """``section.key: old -> new`` for every setting that differs."""
    lines = []
    before, after = dump_config(old), dump_config(new)
    for section, values in after.items():
        pairs = values.items() if isinstance(values, dict) else [("", values)]
        for key, value in pairs:
            was = before[section][key] if key else before[section]
            if was != value:
                lines.append(f"{section}{'.' if key else ''}{key}: {was!r} -> {value!r}")
    return lines


def find_config(name: str) -> Path:
    """The file itself, or the shipped config of that name (``laptop`` or ``laptop.toml``)."""
    path = Path(name)
    if path.is_file():
        return path
    folder = shipped("configs")
    for candidate in (folder / name, folder / f"{name}.toml"):
        if candidate.is_file():
            return candidate
    known = sorted(str(p.relative_to(folder).with_suffix("")) for p in folder.rglob("*.toml"))
    raise ConfigError(f"{name}: no such config file, and no shipped config of that name ({', '.join(known)})")


def _read(path: Path, chain: tuple[Path, ...]) -> dict[str, Any]:
    if path.resolve() in chain:
        raise ConfigError(f"{path}: extends itself")
    try:
        data = tomllib.loads(decode(path.read_bytes()))
    except FileNotFoundError:
        raise ConfigError(f"{chain[-1]}: extends {path}, which does not exist") from None
    except ValueError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None
    if "extends" in data:
        base = _read(path.parent / str(data.pop("extends")), (*chain, path.resolve()))
        data = _merge(base, data)
    return data


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        merged[key] = _merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def _apply(data: dict[str, Any], override: str) -> None:
    key, sign, text = override.partition("=")
    if not sign or not key.strip():
        raise ConfigError(f"--set {override}: write it as section.key=value")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    *sections, last = key.strip().split(".")
    for section in sections:
        data = data.setdefault(section, {})
        if not isinstance(data, dict):
            raise ConfigError(f"--set {override}: {section} is not a section")
    data[last] = value


def _tuples(value: Any) -> Any:
    """TOML and JSON have arrays where the config has tuples; strict mode tells them apart."""
    if isinstance(value, Mapping):
        return {key: _tuples(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return tuple(_tuples(item) for item in value)
    return value


def _explain(error: ValidationError, where: str) -> str:
    lines = []
    for problem in error.errors():
        key = ".".join(str(part) for part in problem["loc"])
        message = problem["msg"].removeprefix("Value error, ")
        if problem["type"] == "extra_forbidden":
            near = _nearest(problem["loc"])
            message = f"no such key{near}"
        lines.append(f"{where}: {key}: {message}" if key else f"{where}: {message}")
    return "\n".join(lines)


def _nearest(loc: tuple[int | str, ...]) -> str:
    """The valid key that a misspelt one most likely meant, or all keys of its section."""
    names: dict[str, str] = {}
    for section, info in RunConfig.model_fields.items():
        names[section] = section
        if isinstance(info.annotation, type) and issubclass(info.annotation, Section):
            names |= {f"{section}.{key}": key for key in info.annotation.model_fields}
    full = ".".join(str(part) for part in loc)
    close = difflib.get_close_matches(full, names, n=1, cutoff=0.6) or [
        path for path, key in names.items() if key == str(loc[-1])
    ]
    return f"; the nearest valid key is {close[0]}" if close else f"; valid here: {', '.join(_siblings(loc, names))}"


def _siblings(loc: tuple[int | str, ...], names: Mapping[str, str]) -> list[str]:
    prefix = f"{loc[0]}." if len(loc) > 1 else ""
    return [path for path in names if path.startswith(prefix) and (prefix or "." not in path)]
