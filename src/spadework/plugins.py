"""Parts of the method that users may write themselves: found by name, and built with settings of their own.

A part is named in the config by a word of the package's own, by the name of an entry point that an installed package
declares, or as ``module:Class``, where the module is importable or lies in the working directory.
"""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from spadework.errors import ConfigError


class NoSettings(BaseModel):
    """Of a part that has none."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Part:
    """Base of what users may write: built from its settings, which the config holds in the table of the part's name."""

    Settings: ClassVar[type[BaseModel]] = NoSettings
    """A pydantic model; every key of the table must be one of its fields."""

    def __init__(self, settings: Any) -> None:
        self.settings = settings


P = TypeVar("P", bound=Part)


@dataclass(frozen=True, slots=True)
class Seam(Generic[P]):
    """A place in the method where a part is chosen by name."""

    key: str
    """The setting that names the part, e.g. ``reward.type``."""
    base: type[Any]
    """What every part of this seam derives from."""
    group: str
    """Entry points of installed packages."""
    own: Mapping[str, type[P]]
    """The package's own parts."""

    def find(self, name: str, where: str) -> type[P]:
        """The class that goes by ``name``. Raises ``ConfigError``, which begins with ``where``: the config's origin."""
        problem = f"{where}: {self.key} = {name!r}"
        if name in self.own:
            return self.own[name]
        if ":" in name:
            found = _imported(name, problem)
        else:
            installed = {entry.name: entry.value for entry in entry_points(group=self.group)}
            if name not in installed:
                raise ConfigError(f"{problem}: {_unknown(name, [*self.own, *installed])}")
            found = _imported(installed[name], problem)
        if not (isinstance(found, type) and issubclass(found, self.base)):
            raise ConfigError(f"{problem}: it is not a class derived from {self.base.__module__}.{self.base.__name__}")
        return found

    def build(self, name: str, tables: BaseModel, where: str) -> P:
        """The part ``name`` with its settings from the table of that name in the section ``tables``.

        Raises ``ConfigError`` for a part that does not exist, and for settings that its class does not take.
        """
        kind, table_name = self.find(name, where), table_of(name)
        table = getattr(tables, table_name, {})
        if isinstance(table, BaseModel):
            return kind(table)
        section = self.key.rpartition(".")[0]
        return kind(validated(kind.Settings, table, f"{where}: {section}.{table_name}"))


def table_of(name: str) -> str:
    """The name of a part's table: its own name, or what stands behind the colon of ``module:Class``."""
    return name.rpartition(":")[2]


def validated(model: type[BaseModel], table: Mapping[str, Any], where: str) -> BaseModel:
    """The settings that a table gives. Raises ``ConfigError`` with a line for every key that is wrong."""
    lines = []
    for key in table:
        if key not in model.model_fields:
            near = difflib.get_close_matches(key, model.model_fields, n=1, cutoff=0.6)
            hint = f"the nearest valid key is {near[0]}" if near else _listed("valid here", model.model_fields)
            lines.append(f"{where}.{key}: no such key; {hint}")
    if not lines:
        try:
            return model.model_validate(table)
        except ValidationError as error:
            for problem in error.errors():
                path = ".".join(str(part) for part in problem["loc"])
                lines.append(f"{where}{'.' if path else ''}{path}: {problem['msg'].removeprefix('Value error, ')}")
    raise ConfigError("\n".join(lines))


def check_tables(section: BaseModel, name: str, used: Iterable[str], where: str) -> None:
    """Refuse a table that no part uses and whose name is nearly that of one: it is a misspelt one.

    Tables of other parts may stand beside the one in use, so that a change of the setting alone compares two.
    """
    known = [key for key, value in section if isinstance(value, BaseModel)] + [table_of(part) for part in used]
    for key in section.model_extra or {}:
        near = difflib.get_close_matches(key, known, n=1, cutoff=0.75)
        if near and near[0] != key:
            raise ConfigError(f"{where}: {name}.{key}: no such key; the nearest valid key is {name}.{near[0]}")


def _imported(path: str, problem: str) -> Any:
    """What ``module:Class`` names."""
    module, _, attribute = path.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # last: a file of the working directory must not hide an installed module
    try:
        return getattr(importlib.import_module(module), attribute)
    except Exception as error:
        raise ConfigError(f"{problem}: {type(error).__name__}: {error}") from error


def _unknown(name: str, known: Iterable[str]) -> str:
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"; the nearest is {near[0]!r}" if near else ""
    return f"there is none of that name{hint}; {_listed('there are', names)}, or module:Class of your own"


def _listed(lead: str, names: Iterable[str]) -> str:
    return f"{lead}: {', '.join(names) or 'none'}"
