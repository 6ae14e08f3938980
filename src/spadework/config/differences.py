"""Which settings differ between configs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spadework.config import RunConfig
from spadework.config.files import dump_config


def differing(configs: Sequence[RunConfig]) -> list[tuple[str, list[Any]]]:
    """``section.key`` and its value in each config, for every setting that is not the same in all."""
    dumped = [_flat(dump_config(config)) for config in configs]
    keys = dict.fromkeys(key for values in dumped for key in values)  # tables of one's own parts are not in all
    rows = [(key, [values.get(key) for values in dumped]) for key in keys]
    return [(key, values) for key, values in rows if any(value != values[0] for value in values)]


def _flat(data: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for section, values in data.items():
        if isinstance(values, dict):
            flat |= {f"{section}.{key}": value for key, value in values.items()}
        else:
            flat[section] = values
    return flat
