"""Settings that an earlier version called by other names: config files and stored runs that use them still open."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Removed:
    """A setting that is gone. ``default`` is the value that it had unless a config said otherwise."""

    default: Any
    instead: str = ""
    """What to do in its place, as a sentence; empty where there is nothing to do."""


RENAMED: Mapping[str, str | Removed] = {
    "designer.max_structure_share": Removed(1 / 3),
    "reward.plateau_low": "reward.plateau.low",
    "reward.plateau_high": "reward.plateau.high",
    "reward.plateau_slope": "reward.plateau.slope",
    "reward.per_seed": "reward.plateau.per_seed",
    "reward.blend_plateau": "reward.blend.plateau_share",
    "reward.regret_scale": "reward.blend.regret_scale",
    "reward.gamma_fast": "reward.learning_potential.gamma_fast",
    "reward.gamma_slow": "reward.learning_potential.gamma_slow",
}
"""Old key -> new key, or ``Removed``. A key is ``section.key`` and may lie deeper; a whole section may move too."""


BEFORE: Mapping[str, Any] = {"validation.grading": False}
"""Newer settings under which an older run goes on as it began: key -> what it did before there was a setting."""


@dataclass(frozen=True, slots=True)
class OldSetting:
    """An old key that some config uses, with its value there."""

    key: str
    value: Any
    now: str | Removed

    @property
    def loses_something(self) -> bool:
        """Whether the setting is gone and had another value than its default."""
        return isinstance(self.now, Removed) and self.value != self.now.default

    def __str__(self) -> str:
        if isinstance(self.now, Removed):
            return f"{self.key} is no longer a setting and is ignored. {self.now.instead}".rstrip()
        return f"{self.key} is now called {self.now}; rename it"


def with_current_names(
    data: Mapping[str, Any], table: Mapping[str, str | Removed] = RENAMED
) -> tuple[dict[str, Any], list[OldSetting]]:
    """A copy of a config's plain data under the names of today, and the old names that it used.

    A setting that is given under both names keeps the value under the new one.
    """
    renamed = copy.deepcopy(dict(data))
    used = []
    for key, now in table.items():
        found, value = _take(renamed, key.split("."))
        if not found:
            continue
        used.append(OldSetting(key, value, now))
        if isinstance(now, str):
            _put(renamed, now.split("."), value)
    return renamed, used


def as_before(data: Mapping[str, Any], table: Mapping[str, Any] = BEFORE) -> dict[str, Any]:
    """A copy of the config that a run stored, with what it did where a setting is newer than the run."""
    whole = copy.deepcopy(dict(data))
    for key, value in table.items():
        section, name = key.split(".")
        if section in whole:
            whole[section].setdefault(name, value)
    return whole


def _take(data: dict[str, Any], path: list[str]) -> tuple[bool, Any]:
    """Remove and return what lies at ``path``, and the tables that are empty without it."""
    name, *rest = path
    if name not in data:
        return False, None
    if not rest:
        return True, data.pop(name)
    inner = data[name]
    if not isinstance(inner, dict):
        return False, None
    found, value = _take(inner, rest)
    if found and not inner:
        del data[name]
    return found, value


def _put(data: dict[str, Any], path: list[str], value: Any) -> None:
    """Set ``path`` to ``value`` unless something is there; tables are merged."""
    *tables, name = path
    for table in tables:
        data = data.setdefault(table, {})
        if not isinstance(data, dict):
            return  # validation will say that a section is expected here
    old = data.get(name)
    if isinstance(old, dict) and isinstance(value, dict):
        for key, inner in value.items():
            _put(old, [key], inner)
    elif name not in data:
        data[name] = value
