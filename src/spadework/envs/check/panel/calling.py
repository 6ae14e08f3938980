"""A player who calls every tool once, with the plainest arguments that its schema allows, and then says it is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spadework.envs.check.findings import Finding
from spadework.envs.check.panel.bench import SEEDS, Bench
from spadework.envs.tool_calls import render_call

_FIRST = 2
"""Seeds on which it plays; one that it wins there is reason to play all of ``SEEDS``."""


async def check(bench: Bench) -> list[Finding]:
    """Such a player knows nothing of the task: it must not win on half of the seeds."""
    if not bench.session.tools:
        return []
    actions = [*_calls(bench), bench.dialogue.encode("done")][-bench.turns :]
    seeds = [bench.seed(index) for index in range(SEEDS)]
    wins = await bench.wins("caller", [(seed, actions) for seed in seeds[:_FIRST]])
    if not any(wins):
        return []
    wins += await bench.wins("caller", [(seed, actions) for seed in seeds[_FIRST:]])
    if 2 * sum(wins) < len(wins):
        return []
    return [Finding("ENV404", f"calling every tool once, with no thought, wins on {sum(wins)} of {len(wins)} seeds")]


def _calls(bench: Bench) -> list[str]:
    functions = [tool.get("function", tool) for tool in bench.session.tools]
    return [render_call(str(one.get("name")), _object(one.get("parameters") or {})) for one in functions]


def _object(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The required properties, each with its plainest value."""
    properties = schema.get("properties", {})
    return {name: plainest(properties.get(name, {})) for name in schema.get("required", ())}


def plainest(schema: Any) -> Any:
    """A value of the simplest kind that fits a JSON Schema, as far as its type, bounds and choices say."""
    if not isinstance(schema, Mapping):
        return "a"
    given = [schema[key] for key in ("default", "const") if key in schema] + list(schema.get("enum") or ())
    if given:
        return given[0]
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    if kind in ("array", "object"):
        return [plainest(schema.get("items", {}))] if kind == "array" else _object(schema)
    number = max(1, schema.get("minimum", 1))
    return {"boolean": True, "null": None, "integer": number, "number": number}.get(str(kind), "a")
