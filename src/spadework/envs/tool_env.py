"""The provided bases of tool-use programs.

The sandbox loads this file and ``spadework.scan``, which reads the player's text, by their paths: beside that module it
imports the standard library only.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import json
import math
import sqlite3
from collections.abc import Callable, Mapping
from typing import Any

from spadework.scan import JSON, Call, parse_reply


def coerce(value: Any, schema: Mapping[str, Any]) -> Any:
    """``value`` as its schema wants it, and only so: text becomes a number where a number is asked, and the reverse.

    Raises ``ValueError`` with a message for the player.
    """
    kinds = schema.get("type") or ()
    kinds = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    if kinds and not any(_is(value, kind) for kind in kinds):
        value = _convert(value, kinds)
    if "enum" in schema and value not in schema["enum"]:
        raise ValueError(f"must be one of {', '.join(map(str, schema['enum']))}")
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        value = [coerce(item, schema["items"]) for item in value]
    return value


_TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


def _is(value: Any, kind: str) -> bool:
    """Whether a value is of a JSON type; a Boolean is no number."""
    return isinstance(value, _TYPES.get(kind, object)) and (kind == "boolean" or not isinstance(value, bool))


def _convert(value: Any, kinds: tuple[str, ...]) -> Any:
    candidates: list[Any] = []
    if isinstance(value, str):
        candidates.append({"true": True, "false": False}.get(value.strip().lower()))
        with contextlib.suppress(ValueError, RecursionError):
            candidates.append(JSON.decode(value))
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        candidates.append(str(value))
    for one in (value, *candidates):
        if isinstance(one, float) and one.is_integer():
            candidates.append(int(one))
    for one in candidates:
        if one is not None and any(_is(one, kind) for kind in kinds):
            return one
    raise ValueError(f"must be of type {' or '.join(kinds)}, not {type(value).__name__}")


class ToolUseBaseEnv:
    """Counts turns, dispatches ``<tool_call>`` to ``tool_NAME(**arguments)``, reveals instructions, checks the answer.

    A subclass sets in ``reset`` (nothing of this class's has to be called before): ``_tools`` (OpenAI-format schemas),
    ``_state``, and either ``_expected_answer`` (one task) or ``_user_messages`` with one criterion on the state each in
    ``_message_criteria`` (several instructions). ``_plan`` holds what the oracle calls, one list of
    ``(name, arguments)`` for each instruction.

    The next instruction comes with the first call that leaves the current one's criterion met, or with an ``<answer>``.
    After the last one an ``<answer>`` pays 1.0 if every criterion holds on the final state, and ends the episode.
    """

    partial_credit = False
    """Pay the share of criteria met, instead of all or nothing; the last ``<answer>`` then always ends the episode."""
    format_reward = 0.0
    """Paid for each step whose calls could all be read."""
    malformed_reward = -0.1

    _tools: list[dict[str, Any]]
    _user_messages: list[str]
    _message_criteria: list[Callable[[Any], Any]]
    _plan: list[list[tuple[str, dict[str, Any]]]]
    _expected_answer: Any
    _state: Any

    def __new__(cls, *_: Any, **__: Any) -> Any:
        """Every attribute exists even where a program forgets ``super().__init__()``."""
        self = super().__new__(cls)
        self.max_turns = 20
        self._tools, self._user_messages, self._message_criteria, self._plan = [], [], [], []
        self._expected_answer, self._state = None, {}
        self._clear()
        return self

    def __init__(self, max_turns: int = 20) -> None:
        self.max_turns = max_turns

    def __init_subclass__(cls, **options: Any) -> None:
        """Every ``reset`` starts an episode, even where a program forgets ``super().reset()``."""
        super().__init_subclass__(**options)
        own = cls.__dict__.get("reset")
        if own is not None:

            @functools.wraps(own)
            def reset(self: ToolUseBaseEnv, *args: Any, **kwargs: Any) -> Any:
                self._clear()
                return own(self, *args, **kwargs)

            cls.reset = reset  # type: ignore[method-assign]

    def _clear(self) -> None:
        self.turn_count = 0
        self._current_msg = 0
        self._call_history: list[dict[str, Any]] = []

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        """Start an episode: the first instruction."""
        self._clear()
        return (self._user_messages[0] if self._user_messages else ""), {}

    def get_tools(self) -> list[dict[str, Any]]:
        """The schemas, each in the form ``{"type": "function", "function": {...}}``."""
        return [tool if "function" in tool else {"type": "function", "function": tool} for tool in self._tools]

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Carry out one reply: its calls in order, then its answer."""
        self.turn_count += 1
        reply = parse_reply(action)
        lines = [json.dumps(self._run(call), default=str) for call in reply.calls]
        reward, ended, form = 0.0, False, "call"
        if reply.problems:
            lines += [f"Malformed tool call: {problem}." for problem in reply.problems]
            reward, form = self.malformed_reward, "malformed"
        elif reply.answer is not None:
            form = "answer"
        elif not reply.calls:
            lines.append("Reply with a <tool_call> or with an <answer>.")
            form = "text"
        else:
            reward = self.format_reward
        if reply.calls:
            lines += self._advance()
        if reply.answer is not None and not reply.problems:
            text, reward, ended = self._answer(reply.answer)
            lines.append(text)
        truncated = not ended and self.turn_count >= self.max_turns
        observation = "\n".join(line for line in lines if line) + ("" if ended else self._obs_suffix())
        return observation, reward, ended, truncated, {"format": form}

    def execute_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        """Run one tool with arguments that fit its schema; whatever goes wrong is an ``error`` for the player."""
        return self._run(Call(name, dict(arguments)))

    def _run(self, call: Call) -> Any:
        try:
            result = self._dispatch(call)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - a tool's fault is for the player to see and to mend
            result = {"error": str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"}
        self._call_history.append({"name": call.name, "arguments": call.arguments, "result": copy.deepcopy(result)})
        return result

    def _dispatch(self, call: Call) -> Any:
        schemas = {tool.get("function", tool).get("name"): tool.get("function", tool) for tool in self.get_tools()}
        method = getattr(self, f"tool_{call.name}", None)
        if method is None or (schemas and call.name not in schemas):
            raise ValueError(f"there is no tool {call.name!r}; there are {', '.join(map(str, schemas))}")
        schema = schemas.get(call.name, {}).get("parameters")
        return method(**(call.arguments if schema is None else fit(call, schema)))

    def _advance(self) -> list[str]:
        """The next instruction, if the current one is met."""
        if self._current_msg + 1 < len(self._user_messages) and self._met(self._current_msg):
            self._current_msg += 1
            return [f"User: {self._user_messages[self._current_msg]}"]
        return []

    def _met(self, index: int) -> bool:
        try:
            return index < len(self._message_criteria) and bool(self._message_criteria[index](self._state))
        except Exception:  # noqa: BLE001 - a criterion that raises is not met
            return False

    def _answer(self, answer: str) -> tuple[str, float, bool]:
        """Feedback, reward, and whether the episode ends."""
        if self._current_msg + 1 < len(self._user_messages):
            self._current_msg += 1
            return f"User: {self._user_messages[self._current_msg]}", 0.0, False
        share = self._share_met(answer)
        if share == 1.0 or self.partial_credit:
            return "Done.", share, True
        return self._incorrect_answer_feedback(answer), 0.0, False

    def _share_met(self, answer: str) -> float:
        if not self._user_messages:
            return float(self._check_answer(answer))
        criteria = range(len(self._message_criteria))
        return sum(map(self._met, criteria)) / len(criteria) if criteria else 0.0

    def _check_answer(self, answer: str) -> bool:
        """Equal but for case and spaces, or as numbers to 0.01."""
        expected = str(self._expected_answer).strip().lower()
        given = str(answer).strip().lower()
        if self._expected_answer is None or not given:
            return False
        return given == expected or abs(_number(given) - _number(expected)) <= 0.01 + 1e-9

    def _incorrect_answer_feedback(self, answer: str) -> str:
        """What a wrong answer is told: never what is missing."""
        return "Not all that was asked for is done." if self._user_messages else "That is not the right answer."

    def _obs_suffix(self) -> str:
        """What stands under every observation before the end."""
        return ""

    def solution(self) -> str | None:
        """What the oracle says next: the plan's next call, then the answer; ``None`` without either."""
        made = len(self._call_history)
        due = [call for part in self._plan[: self._current_msg + 1] for call in part]
        if made < len(due):
            name, arguments = due[made]
            return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"
        if self._user_messages:
            return "<answer>done</answer>" if self._plan else None
        return None if self._expected_answer is None else f"<answer>{self._expected_answer}</answer>"

    def close(self) -> None:
        """Nothing is held."""


def fit(call: Call, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The call's arguments, coerced by ``schema``. Raises ``ValueError`` on unknown, missing or unfit ones."""
    properties = schema.get("properties", {})
    unknown = [name for name in call.arguments if name not in properties]
    missing = [name for name in schema.get("required", ()) if name not in call.arguments]
    if unknown or missing:
        what = f"does not take {', '.join(unknown)}" if unknown else f"needs {', '.join(missing)}"
        raise ValueError(f"{call.name} {what}")
    fitted = {}
    for name, value in call.arguments.items():
        try:
            fitted[name] = coerce(value, properties[name])
        except ValueError as error:
            raise ValueError(f"{name} {error}") from None
    return fitted


def _number(text: str) -> float:
    """The number that a text is; NaN, which equals nothing, for any other."""
    try:
        return float(text.replace(",", "").strip("$€£% "))
    except ValueError:
        return math.nan


class SqliteToolEnv(ToolUseBaseEnv):
    """A tool-use environment whose state is an in-memory SQLite database.

    A subclass sets ``_schema`` and calls ``self._fill({table: rows})`` in ``reset``. Criteria are callables on the
    connection, or SQL: a query whose first value is true when the criterion is met. ``_expected_changes`` may hold the
    whole difference that the final state must show, as ``changes()`` gives it: then nothing else may have changed.
    """

    _schema = ""

    def _clear(self) -> None:
        super()._clear()
        self._state = sqlite3.connect(":memory:")
        self._state.row_factory = sqlite3.Row
        self._state.executescript(self._schema)
        self._expected_changes: dict[str, Any] | None = None
        self._before: dict[str, list[tuple[Any, ...]]] = {}

    def _fill(self, rows: Mapping[str, list[tuple[Any, ...]]]) -> None:
        """Insert ``rows`` and remember the database as it is now."""
        for table, values in rows.items():
            for row in values:
                self._state.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
        self._state.commit()
        self._before = self._dump()

    def query(self, sql: str, *values: Any) -> list[dict[str, Any]]:
        """Rows as dictionaries."""
        return [dict(row) for row in self._state.execute(sql, values)]

    def _dump(self) -> dict[str, list[tuple[Any, ...]]]:
        tables = [row[0] for row in self._state.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {table: sorted(map(tuple, self._state.execute(f"SELECT * FROM {table}")), key=repr) for table in tables}

    def changes(self) -> dict[str, Any]:
        """Table -> rows added and removed since ``_fill``; tables without a difference are left out."""
        now = self._dump()
        found = {}
        for table in sorted({*now, *self._before}):
            new, old = now.get(table, []), self._before.get(table, [])
            added, removed = [row for row in new if row not in old], [row for row in old if row not in new]
            if added or removed:
                found[table] = {"added": added, "removed": removed}
        return found

    def _met(self, index: int) -> bool:
        criterion: Any = self._message_criteria[index] if index < len(self._message_criteria) else None
        if not isinstance(criterion, str):
            return super()._met(index)
        try:
            row = self._state.execute(criterion).fetchone()
        except sqlite3.Error:
            return False
        return bool(row and row[0])

    def _share_met(self, answer: str) -> float:
        share = super()._share_met(answer)
        if self._expected_changes is None or self.changes() == self._expected_changes:
            return share
        return 0.0 if not self.partial_credit else share * (1 - 1 / (1 + len(self._message_criteria)))
