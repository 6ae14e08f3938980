"""Looks at the criteria and tools of a tool-use program from within: the runtime check appends this file to a program.

Standard library only, nothing of ours; every function imports what it needs, for a program may have taken the names.
"""

import typing

_MISSING_ID = "no-such-id-000"


def spadework_facts(env: typing.Any) -> dict[str, typing.Any]:
    """What was set up: counts of instructions and criteria, and which instructions are answered without any call."""
    return {
        "based": hasattr(env, "_message_criteria"),
        "messages": len(_spadework_held(env, "_user_messages")),
        "criteria": len(_spadework_held(env, "_message_criteria")),
        "answer": getattr(env, "_expected_answer", None) is not None,
        "declined": [index for index, part in enumerate(_spadework_held(env, "_plan")) if not part],
    }


def _spadework_held(env: typing.Any, name: str) -> list[typing.Any]:
    """A list of the provided base's; empty where a program does without that base."""
    return list(getattr(env, name, None) or [])


def _spadework_reset(env: typing.Any, seed: int) -> str:
    """The first observation."""
    try:
        opened = env.reset(seed=seed)
    except TypeError:
        opened = env.reset(seed)
    return str(opened[0] if isinstance(opened, tuple) else opened)


def spadework_criteria(env: typing.Any) -> list[dict[str, typing.Any]]:
    """Each criterion on the present state: whether it is met, what it raised, and types that can never be equal."""
    import contextlib
    import copy

    found = []
    for criterion in _spadework_held(env, "_message_criteria"):
        entry: dict[str, typing.Any] = {"met": False, "error": None, "mismatch": None}
        try:
            if isinstance(criterion, str):
                row = env._state.execute(criterion).fetchone()
                entry["met"] = bool(row and row[0])
            else:
                entry["met"] = bool(criterion(env._state))
        except Exception as error:  # noqa: BLE001 - what it raises is what is asked
            entry["error"] = f"{type(error).__name__}: {error}"
        _SPADEWORK_NOTES.clear()
        with contextlib.suppress(Exception):
            criterion(_spadework_spy(copy.deepcopy(env._state)))
        entry["mismatch"] = next(iter(_SPADEWORK_NOTES), None)
        found.append(entry)
    return found


_SPADEWORK_NOTES: list[str] = []
"""What the watched state noted during one criterion."""


def _spadework_family(value: typing.Any) -> str:
    for name, kinds in (("text", str), ("number", (int, float)), ("dict", dict), ("list", (list, tuple))):
        if isinstance(value, kinds):
            return name
    return ""


def _spadework_differ(one: typing.Any, other: typing.Any) -> bool:
    families = {_spadework_family(one), _spadework_family(other)}
    return len(families) == 2 and "" not in families


class _SpadeworkScalar:
    """Notes a comparison with another family of types."""

    def __eq__(self, other: object) -> bool:
        if _spadework_differ(self, other):
            names = f"{_spadework_family(self)} {self!r:.40}", f"{_spadework_family(other)} {other!r:.40}"
            _SPADEWORK_NOTES.append(f"{names[0]} of the state is compared with {names[1]}")
        return super().__eq__(other) is True

    def __ne__(self, other: object) -> bool:
        return not self == other


class _SpadeworkText(_SpadeworkScalar, str):
    __hash__ = str.__hash__


class _SpadeworkInt(_SpadeworkScalar, int):
    __hash__ = int.__hash__


class _SpadeworkFloat(_SpadeworkScalar, float):
    __hash__ = float.__hash__


class _SpadeworkList(list):  # type: ignore[type-arg]
    def __contains__(self, item: object) -> bool:
        if self and all(_spadework_differ(item, one) for one in self):
            inside = _spadework_family(self[0])
            _SPADEWORK_NOTES.append(f"{_spadework_family(item)} {item!r:.40} is looked for in a list of {inside}")
        return list.__contains__(self, item)


class _SpadeworkDict(dict):  # type: ignore[type-arg]
    def _look(self, key: object) -> None:
        if self and all(_spadework_differ(key, one) for one in self):
            kinds = _spadework_family(key), _spadework_family(next(iter(self)))
            _SPADEWORK_NOTES.append(f"the key {key!r:.40} is a {kinds[0]}, every key there is a {kinds[1]}")

    def __contains__(self, key: object) -> bool:
        self._look(key)
        return dict.__contains__(self, key)

    def __getitem__(self, key: object) -> typing.Any:
        self._look(key)
        return dict.__getitem__(self, key)

    def get(self, key: object, default: object = None) -> typing.Any:
        self._look(key)
        return dict.get(self, key, default)


def _spadework_spy(value: typing.Any) -> typing.Any:
    """The same value, which notes comparisons between types that are never equal."""
    if isinstance(value, dict):
        return _SpadeworkDict({key: _spadework_spy(item) for key, item in value.items()})
    if isinstance(value, list):
        return _SpadeworkList([_spadework_spy(item) for item in value])
    watched = {str: _SpadeworkText, int: _SpadeworkInt, float: _SpadeworkFloat}.get(type(value))
    return watched(value) if watched else value


def spadework_tools(env: typing.Any, seed: int) -> list[dict[str, typing.Any]]:
    """Each tool: whether some call of it succeeds, its last error, and what a call that must fail changed."""
    found: list[dict[str, typing.Any]] = []
    if not hasattr(env, "execute_tool") or not hasattr(env, "get_tools"):
        return found
    for tool in env.get_tools():
        function = tool.get("function", tool)
        properties = (function.get("parameters") or {}).get("properties", {})
        entry = {"name": function["name"], "works": False, "error": None, "changed": None}
        for calls in ([], [call for part in _spadework_held(env, "_plan") for call in part]):
            env._spadework_opening = _spadework_reset(env, seed)
            for name, arguments in calls:
                env.execute_tool(name, dict(arguments))
            error = _spadework_try(env, function["name"], properties)
            entry["works"] = entry["works"] or error is None
            entry["error"] = error
            if entry["works"]:
                break
        _spadework_reset(env, seed)
        entry["changed"] = _spadework_changed(env, function, properties)
        found.append(entry)
    return found


def _spadework_try(env: typing.Any, name: str, properties: typing.Any) -> typing.Any:
    """The last error of a tool that fails with every arguments tried; None as soon as one call succeeds."""
    result: typing.Any = "nothing to try"
    for arguments in _spadework_arguments(env, name, properties):
        result = env.execute_tool(name, arguments)
        if not _spadework_failed(result):
            return None
    return str(result)[:200]


def spadework_called(env: typing.Any) -> list[str]:
    """Names of the tools that some call so far succeeded with."""
    calls = [call for call in _spadework_held(env, "_call_history") if isinstance(call, dict)]
    return sorted({str(call.get("name")) for call in calls if not _spadework_failed(call.get("result"))})


def _spadework_failed(result: typing.Any) -> bool:
    if isinstance(result, dict):
        told = result.get("error") or result.get("status") in ("error", "failed", "failure")
        return bool(told) or result.get("success") is False or result.get("ok") is False
    return isinstance(result, str) and result.strip().lower().startswith(("error", "invalid", "unknown tool"))


def _spadework_changed(env: typing.Any, function: typing.Any, properties: typing.Any) -> typing.Any:
    """A call that must fail and yet changed the state: without what is required, or with an id that there is not."""
    needed = list((function.get("parameters") or {}).get("required", []))
    ids = [name for name in needed if name == "id" or name.endswith("_id")]
    calls: list[dict[str, typing.Any]] = [{}] if needed else []
    for arguments in _spadework_arguments(env, function["name"], properties)[:3] if ids else ():
        calls += [{**arguments, name: _MISSING_ID} for name in ids]
    for arguments in calls:
        before = _spadework_print(env)
        env.execute_tool(function["name"], dict(arguments))
        if _spadework_print(env) != before:
            return arguments
    return None


def _spadework_print(env: typing.Any) -> str:
    state = getattr(env, "_state", None)
    return repr(_spadework_tables(env) if hasattr(state, "execute") else state)


def _spadework_tables(env: typing.Any) -> dict[str, list[dict[str, typing.Any]]]:
    """Every row of a database, by table."""
    names = [row[0] for row in env._state.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {name: [dict(row) for row in env._state.execute(f"SELECT * FROM {name}")] for name in names}


def _spadework_arguments(env: typing.Any, name: str, properties: typing.Any) -> list[dict[str, typing.Any]]:
    """Arguments to try: the plan's own, and values of the state and the instructions that fit by type and name."""
    import random

    planned = [dict(arguments) for part in _spadework_held(env, "_plan") for tool, arguments in part if tool == name]
    leaves = _spadework_leaves(env)
    choices = {key: _spadework_values(key, schema, leaves) for key, schema in properties.items()}
    rng = random.Random(0)
    longest = max([len(values) for values in choices.values()], default=1)
    tries = planned + [
        {key: values[index % len(values)] for key, values in choices.items() if values} for index in range(longest)
    ]
    tries += [{key: rng.choice(values) for key, values in choices.items() if values} for _ in range(120)]
    return tries


def _spadework_values(key: str, schema: typing.Any, leaves: list[tuple[str, typing.Any]]) -> list[typing.Any]:
    kind = schema.get("type", "string")
    if "enum" in schema:
        return list(schema["enum"])
    if kind == "boolean":
        return [True, False]
    if kind in ("integer", "number"):
        numbers = [value for _, value in leaves if isinstance(value, (int, float)) and not isinstance(value, bool)]
        return [1, *dict.fromkeys(value for value in numbers if kind == "number" or isinstance(value, int))][:60]
    if kind == "array":
        return [[value] for value in _spadework_values(key, schema.get("items") or {}, leaves)[:20]]
    if kind == "object":
        return [{}]
    words = [word for word in key.lower().replace("-", "_").split("_") if word not in ("id", "new", "to", "from")]
    texts = [(where, value) for where, value in leaves if isinstance(value, str)]
    near = [value for where, value in texts if any(word.rstrip("s") in where for word in words)]
    folders = [value.rsplit("/", 1)[0] for _, value in texts if "/" in value.strip("/")]
    return list(dict.fromkeys([*near, *(value for _, value in texts), *folders, "text"]))[:80]


def _spadework_leaves(env: typing.Any) -> list[tuple[str, typing.Any]]:
    """Where and what: every key and scalar of the state, every row of a database, words of the instructions."""
    import re

    found: list[tuple[str, typing.Any]] = []

    def walk(where: str, value: typing.Any) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                found.append((where, key))
                walk(f"{where}/{key}".lower(), item)
        elif isinstance(value, (list, tuple, set, frozenset)):
            for item in value:
                walk(where, item)
        elif value is not None:
            found.append((where, value))

    state = getattr(env, "_state", None)
    walk("", _spadework_tables(env) if hasattr(state, "execute") else state)
    for message in [env._spadework_opening, *_spadework_held(env, "_user_messages")]:
        quoted = re.findall(r"['\"]([^'\"]+)['\"]", message)
        found += [("message", text) for text in [*quoted, *re.findall(r"[\w:/.@-]+\w", message)]]
    return found
