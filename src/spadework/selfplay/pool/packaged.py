"""Pools of a package's environments: ``rlve:16``, ``rlve:400``, ``rlve:Sorting,SAT``, ``reasoning-gym:logic``."""

from __future__ import annotations

from collections.abc import Sequence

from spadework.envs.registry import DEFAULT_DOMAIN
from spadework.envs.sandbox.packaged.names import RLVE_16, Entry, Named, entries
from spadework.errors import ConfigError
from spadework.types import Environment


def packaged_pool(pool: Named) -> tuple[Environment, ...]:
    """The environments that ``pool`` names, at its difficulty if it has one. Raises ``ConfigError``."""
    return tuple(_environment(pool, entry) for entry in _chosen(pool, entries(pool.package)))


def _chosen(pool: Named, known: Sequence[Entry]) -> list[Entry]:
    by_name = {entry.name: entry for entry in known}
    sets = {"all": list(by_name)}
    if pool.package == "rlve":
        sets |= {"16": list(RLVE_16), "400": list(by_name)}
    for entry in known:
        sets.setdefault(entry.skill, []).append(entry.name)
    names = [name for part in pool.name.split(",") for name in sets.get(part, [part])]
    missing = [name for name in names if name not in by_name]
    if missing:
        some = ", ".join([*sets, *list(by_name)[:4]])
        raise ConfigError(f"{pool}: {pool.package} has no environment or set {missing[0]!r}; there are {some}, …")
    return [by_name[name] for name in dict.fromkeys(names)]


def _environment(pool: Named, entry: Entry) -> Environment:
    named = Named(pool.package, entry.name, pool.difficulty)
    level = "" if pool.difficulty is None else f"-d{pool.difficulty}"
    return Environment(
        id=f"{pool.package}-{entry.name}{level}",
        source=str(named),
        hint="",
        skill=entry.skill,
        domain=DEFAULT_DOMAIN,
        document_id=named.package,
        cycle=0,
        designer_version=0,
    )
