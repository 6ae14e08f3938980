"""Settings that go by another name now, so that configs and runs of earlier versions still read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RENAMED: dict[str, str | None] = {
    "reward.plateau_low": "reward.plateau.low",
    "reward.plateau_high": "reward.plateau.high",
    "reward.plateau_slope": "reward.plateau.slope",
    "reward.per_seed": "reward.plateau.per_seed",
    "reward.blend_plateau": "reward.blend.plateau_share",
    "reward.regret_scale": "reward.blend.regret_scale",
    "reward.gamma_fast": "reward.learning_potential.gamma_fast",
    "reward.gamma_slow": "reward.learning_potential.gamma_slow",
}
"""Old key -> new key, or ``None`` for a setting that is gone."""


def rename(data: Mapping[str, Any]) -> dict[str, Any]:
    """The config as plain data, under the names of today.

    A value under an old name replaces one under the new name: it comes from a file or an override that was written on
    top of a config of today.
    """
    renamed = {key: _copy(value) for key, value in data.items()}
    for old, new in RENAMED.items():
        table, key = _parent(renamed, old)
        if table is None or key not in table:
            continue
        value = table.pop(key)
        if new is not None:
            target, name = _parent(renamed, new, make=True)
            if target is not None:
                target[name] = value
    return renamed


def _parent(data: dict[str, Any], path: str, *, make: bool = False) -> tuple[dict[str, Any] | None, str]:
    """The table that holds the key of ``path``, and the key; ``None`` where something else stands in its place."""
    *sections, key = path.split(".")
    table: Any = data
    for section in sections:
        table = table.setdefault(section, {}) if make else table.get(section)
        if not isinstance(table, dict):
            return None, key
    return table, key


def _copy(value: Any) -> Any:
    """Tables are copied, so that the caller's stay as they are."""
    return {key: _copy(item) for key, item in value.items()} if isinstance(value, Mapping) else value
