"""Looks at a database world from within: its checks append this file to a program, after that of tool use.

Standard library only, nothing of ours; every function imports what it needs, for a program may have taken the names.
"""

import typing

if typing.TYPE_CHECKING:  # in a program these stand above
    from spadework.envs.check.tool_use.probe import (
        _spadework_arguments,
        _spadework_failed,
        _spadework_held,
        _spadework_reset,
        _spadework_tables,
    )

_SPADEWORK_NOBODY = 987654321
_SPADEWORK_BAD_TRIES = 16
_SPADEWORK_TRIES = 60


def spadework_world(env: typing.Any, seed: int) -> dict[str, typing.Any]:
    """The database after a reset: its size, and what the reset gate asks of it."""
    env._spadework_opening = _spadework_reset(env, seed)
    first = _spadework_tables(env)
    dangling = [row[0] for row in env._state.execute("PRAGMA foreign_key_check")]
    touched = sorted(env.changes())
    expected = dict(env._expected_changes or {})
    _spadework_reset(env, seed)
    return {
        "tables": len(first),
        "rows": sum(map(len, first.values())),
        "tools": len(env.get_tools()),
        "calls": sum(map(len, _spadework_held(env, "_plan"))),
        "expects": any(part.get("added") or part.get("removed") for part in expected.values()),
        "touched": touched,
        "dangling": dangling[0] if dangling else None,
        "repeats": _spadework_tables(env) == first,
        "content": repr(first),
    }


def spadework_planned(env: typing.Any, seed: int) -> typing.Any:
    """The first call of the plan that fails, with its result; None where every one succeeds."""
    _spadework_reset(env, seed)
    for part in _spadework_held(env, "_plan"):
        for name, arguments in part:
            result = env.execute_tool(name, dict(arguments))
            if _spadework_failed(result):
                return [name, dict(arguments), str(result)[:200]]
    return None


def spadework_bad_calls(env: typing.Any, seed: int) -> dict[str, typing.Any]:
    """A call for no record that changes the database, and one that fails and changes it all the same."""
    found: dict[str, typing.Any] = {"nobody": None, "half": None}
    env._spadework_opening = _spadework_reset(env, seed)
    start, first = env._state.serialize(), _spadework_tables(env)
    for tool in env.get_tools():
        function = tool.get("function", tool)
        properties = (function.get("parameters") or {}).get("properties", {})
        tries = _spadework_arguments(env, function["name"], properties)[:_SPADEWORK_BAD_TRIES]
        for arguments in tries:
            result = _spadework_call(env, function["name"], arguments, start)
            if _spadework_failed(result) and _spadework_tables(env) != first:
                found["half"] = found["half"] or [function["name"], arguments]
        numbers = [key for key, schema in properties.items() if _spadework_is_key(key, schema)]
        for arguments in tries[:3] if numbers else ():
            for key in numbers:
                wrong = {**arguments, key: _SPADEWORK_NOBODY}
                _spadework_call(env, function["name"], wrong, start)
                if _spadework_tables(env) != first:
                    found["nobody"] = found["nobody"] or [function["name"], wrong]
    return found


def _spadework_is_key(name: str, schema: typing.Any) -> bool:
    return schema.get("type") == "integer" and (name == "id" or name.endswith("_id"))


def _spadework_call(env: typing.Any, name: str, arguments: typing.Any, start: bytes) -> typing.Any:
    """The result of a call on the database as it stood at ``start``."""
    env._state.rollback()
    env._state.deserialize(start)
    return env.execute_tool(name, dict(arguments))


def spadework_too_much(env: typing.Any, seed: int) -> list[typing.Any]:
    """For each tool a call that still changes the database when all of the plan is done, if one was found."""
    env._spadework_opening = _spadework_reset(env, seed)
    for part in _spadework_held(env, "_plan"):
        for name, arguments in part:
            env.execute_tool(name, dict(arguments))
    env._state.commit()
    done, after = env._state.serialize(), _spadework_tables(env)
    found: list[typing.Any] = []
    for tool in env.get_tools():
        function = tool.get("function", tool)
        properties = (function.get("parameters") or {}).get("properties", {})
        for arguments in _spadework_arguments(env, function["name"], properties)[:_SPADEWORK_TRIES]:
            result = _spadework_call(env, function["name"], arguments, done)
            if not _spadework_failed(result) and _spadework_tables(env) != after:
                found.append([function["name"], dict(arguments)])
                break
    return found


def spadework_random_calls(env: typing.Any, seed: int, count: int) -> list[typing.Any]:
    """Calls of tools drawn at random, with values of the state and the instruction that fit by type and name."""
    import random

    env._spadework_opening = _spadework_reset(env, seed)
    planned = [dict(arguments) for part in _spadework_held(env, "_plan") for _, arguments in part]
    rng = random.Random(seed)
    choices = []
    for tool in env.get_tools():
        function = tool.get("function", tool)
        properties = (function.get("parameters") or {}).get("properties", {})
        tries = _spadework_arguments(env, function["name"], properties)
        drawn = [arguments for arguments in tries if arguments not in planned or not arguments]
        choices += [(function["name"], drawn)] if drawn else []
    picked = [rng.choice(choices) for _ in range(count if choices else 0)]
    return [[name, rng.choice(drawn)] for name, drawn in picked]
