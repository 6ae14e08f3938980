"""Parts of the method that users may write themselves: found by name, and built with settings of their own.

``spadework.plugins`` says which names are understood; the settings of a part stand in the table of its name.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from spadework.errors import ConfigError
from spadework.plugins import Plugins


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

    kind: str
    """What a part is, in a word."""
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
        own = {key: f"{part.__module__}:{part.__qualname__}" for key, part in self.own.items()}
        try:
            found = Plugins(self.kind, self.group, own).find(name)
        except ConfigError as error:
            raise ConfigError(f"{where}: {self.key}: {error}") from error
        if not (isinstance(found, type) and issubclass(found, self.base)):
            raise ConfigError(
                f"{where}: {self.key}: {name!r} is no class derived from {self.base.__module__}.{self.base.__name__}"
            )
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


def _listed(lead: str, names: Iterable[str]) -> str:
    return f"{lead}: {', '.join(names) or 'none'}"
