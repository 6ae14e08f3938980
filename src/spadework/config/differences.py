"""Which settings differ: between configs, and between a config and the defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spadework.config import RunConfig
from spadework.config.files import dump_config, parse_config

FREE = (
    "run.cycles",
    "run.checkpoint_every",
    "run.checkpoint_minutes",
    "run.keep_checkpoints",
    "run.evaluate_every",
    "run.max_hours",
    "run.max_tokens",
    "run.max_cost",
    "run.max_fault_share",
    "endpoint.urls",
    "endpoint.weights",
    "endpoint.key_env",
    "endpoint.concurrency",
    "endpoint.timeout_seconds",
    "endpoint.deadline_seconds",
    "endpoint.retries",
    "endpoint.input_price",
    "endpoint.output_price",
    "tinker.base_url",
    "tinker.deadline_seconds",
    "sandbox.ray_address",
    "sandbox.max_instances",
    "sandbox.max_memory_mb",
    "play.concurrency",
    "eval",
    "track",
)
"""Settings and whole sections that say how long a run lasts, where it runs and what is told of it, never what it does:
a run may go on under other values of these."""


@dataclass(frozen=True, slots=True)
class Change:
    """One setting, ``section.key``, in two configs."""

    key: str
    old: Any
    new: Any

    @property
    def free(self) -> bool:
        """Whether a run may go on under the new value as if nothing had changed."""
        return self.key in FREE or self.key.partition(".")[0] in FREE

    def __str__(self) -> str:
        return f"{self.key}: {self.old!r} -> {self.new!r}"


def config_changes(old: RunConfig, new: RunConfig) -> list[Change]:
    """Every setting that differs, in the order of the sections."""
    before, after = flat_settings(dump_config(old)), flat_settings(dump_config(new))
    keys = dict.fromkeys([*after, *before])  # the table of a part of one's own may be in one of them only
    return [Change(key, before.get(key), after.get(key)) for key in keys if before.get(key) != after.get(key)]


def differing(configs: Sequence[RunConfig]) -> list[tuple[str, list[Any]]]:
    """``section.key`` and its value in each config, for every setting that is not the same in all."""
    dumped = [flat_settings(dump_config(config)) for config in configs]
    keys = dict.fromkeys(key for values in dumped for key in values)  # tables of one's own parts are not in all
    rows = [(key, [values.get(key) for values in dumped]) for key in keys]
    return [(key, values) for key, values in rows if any(value != values[0] for value in values)]


def unlike_defaults(config: RunConfig) -> dict[str, Any]:
    """The plain data of a config without the settings that have the default of its domain."""
    data = dump_config(config)
    defaults = dump_config(parse_config({"domain": config.domain}, "defaults"))
    changed = _unlike(data, defaults)
    return {"domain": config.domain, **changed} if config.domain != RunConfig().domain else changed


def _unlike(data: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for key, value in data.items():
        default = defaults.get(key)
        if value == default:
            continue
        if isinstance(value, Mapping) and isinstance(default, Mapping):
            value = _unlike(value, default)
        changed[key] = value
    return changed


def flat_settings(data: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """``section.key`` -> value of every setting in a config's plain data, however deep its table lies."""
    flat: dict[str, Any] = {}
    for name, value in data.items():
        if isinstance(value, Mapping):
            flat |= flat_settings(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat
