"""What the functions of the API take: configs, environments and pools in any form that a user may hold them in."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from spadework.config import RunConfig
from spadework.config.files import dump_config, find_config, parse_config, read_tables
from spadework.envs.registry import recognise
from spadework.envs.sandbox.packaged.names import parse_named
from spadework.errors import ConfigError
from spadework.resources import shipped
from spadework.selfplay.design.examples import environment_id
from spadework.selfplay.pool import files
from spadework.types import Environment

ConfigSource = RunConfig | Mapping[str, Any] | str | Path
"""A config; or the path of a TOML file, the name of a shipped config, TOML text, or the same as nested dicts."""
EnvironmentSource = Environment | str | Path
"""An environment; the path of a program, a pool, a folder or a run directory; the name of a bundled example
(``"code_breaker"``) or of all of a kind (``"games"``); or the text of a program."""


def read_config(config: ConfigSource, settings: Mapping[str, Any] | None = None) -> RunConfig:
    """Read a config, in any form, and change single settings.

    Args:
        config: a ``RunConfig``, the path of a TOML file, the name of a shipped config (``"laptop"``), TOML text, or
            nested dicts. TOML text and dicts may begin with ``extends``, which names another config.
        settings: changes by dotted key, as in ``{"run.cycles": 3}``.

    Raises:
        ConfigError: there is no such file or name, or a key or a value is wrong. The message names the file and the
            key, and the nearest valid key.

    Example:
        >>> read_config("scripted", {"run.cycles": 3}).run.cycles
        3
    """
    tables, where = _read(config)
    given = parse_config(tables, where)
    if not settings:
        return given
    for key, value in settings.items():
        for part in reversed(key.split(".")):
            value = {part: value}
        tables = _merged(tables, value)
    return parse_config(tables, "settings")


def load_pool(path: str | Path) -> tuple[Environment, ...]:
    """The usable environments of a pool, each program once.

    Args:
        path: a Parquet file, a folder of programs (``NAME.py``, with a ``NAME.toml`` or without), one program, a run
            directory (what its designer wrote and its checks accepted), a package's environments by name, or the name
            of a bundled example or of all of a kind.

    Raises:
        ConfigError: the path holds no usable environment; the message says why.

    Example:
        domains = {environment.domain for environment in spadework.load_pool("games")}
    """
    return files.load_pool(_find(path))


def read_environment(source: EnvironmentSource) -> Environment:
    """The one environment that ``source`` stands for. Raises ``ConfigError`` where it is none or several."""
    found = read_environments(source)
    if len(found) != 1:
        raise ConfigError(f"{source}: holds {len(found)} environments, and one is wanted; choose one of load_pool()")
    return found[0]


def read_environments(source: EnvironmentSource | Iterable[EnvironmentSource]) -> list[Environment]:
    """Every environment of ``source``, each id once. Raises ``ConfigError``."""
    if isinstance(source, Environment):
        return [source]
    if isinstance(source, str) and "\n" in source:
        return [_environment(source)]
    if isinstance(source, str | Path):
        return list(load_pool(source))
    found = [environment for one in source for environment in read_environments(one)]
    return list({environment.id: environment for environment in found}.values())


def read_program(source: EnvironmentSource) -> Environment:
    """One program as it stands, without repairs, for checking. Raises ``ConfigError`` for none or several."""
    if isinstance(source, Environment) or "\n" in str(source):
        return read_environment(source)
    if parse_named(str(source)) is not None:
        raise ConfigError(f"{source}: a package's environments are no programs, so they cannot be checked")
    entries = list(files.read_pool(_find(source)))
    if len(entries) != 1:
        raise ConfigError(f"{source}: holds {len(entries)} programs; check one at a time")
    if entries[0].problem:
        raise ConfigError(f"{source}: {entries[0].problem}")
    return entries[0].environment


def _find(path: str | Path) -> Path:
    """The path itself where it exists, else the bundled example or folder of examples of that name, if any."""
    given = Path(path)
    if given.exists() or given.is_absolute():
        return given
    examples = shipped("examples") / "environments"
    for pattern in (f"{given}", f"{given}.py", f"*/{given}.py"):
        found = next(examples.glob(pattern), None)
        if found is not None:
            return found
    return given


def _environment(source: str) -> Environment:
    return Environment(
        id=environment_id(source),
        source=source,
        hint="",
        skill="",
        domain=recognise(source).name,
        document_id="",
        cycle=0,
        designer_version=0,
    )


def _read(config: ConfigSource) -> tuple[dict[str, Any], str]:
    """The tables of a config as they were written, without defaults, and what errors call their origin."""
    if isinstance(config, RunConfig):
        return dump_config(config), "config"
    if isinstance(config, Path) or (isinstance(config, str) and not _is_toml(config)):
        return read_tables(str(config)), str(find_config(str(config)))
    where = "the config's TOML" if isinstance(config, str) else "the config's dict"
    data = _parsed(config) if isinstance(config, str) else dict(config)
    base = data.pop("extends", None)
    return (_merged(read_tables(str(base)), data) if base is not None else data), where


def _is_toml(text: str) -> bool:
    return "\n" in text or "=" in text


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"the config's TOML is not valid: {error}") from None


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        merged[key] = _merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged
