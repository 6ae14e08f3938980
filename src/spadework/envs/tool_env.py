"""The provided bases of tool-use programs.

The sandbox loads this file by its path, and so it does with what it imports of ours: ``spadework.scan``, which reads
the player's text, ``json_schema`` and ``snapshot``. Beside them it imports the standard library only.
"""

from __future__ import annotations

import copy
import functools
import inspect
import json
import math
import sqlite3
from collections.abc import Callable, Mapping
from typing import Any

from spadework.envs.json_schema import SchemaError, check_schema, coerce
from spadework.envs.snapshot import Snapshot
from spadework.scan import Call, parse_reply

_LONGEST_ERROR = 200
"""Characters of an exception's message that reach the player."""
_TELLING = 40
"""Characters by which the beginning of the state is known in a message, even where it was shortened."""
_FLAT = frozenset({str, int, float, bool, type(None)})


class ToolUseBaseEnv:
    """Counts turns, dispatches ``<tool_call>`` to ``tool_NAME(**arguments)``, reveals instructions, checks the answer.

    A subclass sets in ``reset`` (nothing of this class's has to be called before): ``_tools`` (OpenAI-format schemas),
    ``_state``, and either ``_expected_answer`` (one task) or ``_user_messages`` with one criterion on the state each in
    ``_message_criteria`` (several instructions). ``_plan`` holds what the oracle calls, one list of
    ``(name, arguments)`` for each instruction.

    The next instruction comes with the first call that leaves the current one's criterion met, or with an ``<answer>``.
    After the last one an ``<answer>`` pays 1.0 if every criterion holds on the final state, and ends the episode.

    Programs that the method's authors published have ``_tools`` as a dictionary, name -> ``{description, parameters}``.
    They reveal instructions in the results of their own tools, so that the base leaves ``_current_msg`` alone and asks
    ``_check_answer`` about every ``<answer>``.
    """

    partial_credit = False
    """Pay the share of criteria met, instead of all or nothing; the last ``<answer>`` then always ends the episode."""
    format_reward = 0.0
    """Paid for each step whose calls could all be read."""
    malformed_reward = -0.1

    _tools: list[dict[str, Any]] | dict[str, dict[str, Any]]
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

    def __init__(self, max_turns: int = 20, **_: Any) -> None:
        self.max_turns = max_turns

    def __init_subclass__(cls, **options: Any) -> None:
        """Every ``reset`` starts an episode, even where a program forgets ``super().reset()``.

        A ``solution`` in prose, which the authors' programs have, becomes ``None``: nobody can play it.
        """
        super().__init_subclass__(**options)
        said = cls.__dict__.get("solution")
        if inspect.isfunction(said):

            @functools.wraps(said)
            def solution(self: ToolUseBaseEnv) -> Any:
                text = said(self)
                return None if self._self_advancing and not self._playable(text) else text

            cls.solution = solution  # type: ignore[method-assign]
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
        self._valid_schemas: dict[int, tuple[Any, dict[str, Any]]] = {}
        self._call_history: list[dict[str, Any]] = []

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        """Start an episode: the first instruction."""
        self._clear()
        return (self._user_messages[0] if self._user_messages else ""), {}

    @property
    def _self_advancing(self) -> bool:
        """Whether this is a program of the authors' form, which moves on to its next instruction by itself."""
        return isinstance(self._tools, Mapping)

    def _playable(self, text: Any) -> bool:
        """Whether an oracle can say ``text``: it holds calls, or an answer alone, or is itself the right answer."""
        reply = parse_reply(str(text))
        if reply.calls or str(text).strip() == f"<answer>{reply.answer}</answer>":
            return True
        return bool(self._check_answer(str(text)))

    def get_tools(self) -> list[dict[str, Any]]:
        """The schemas, each in the form ``{"type": "function", "function": {...}}``."""
        if isinstance(self._tools, Mapping):
            return [{"type": "function", "function": {"name": name, **tool}} for name, tool in self._tools.items()]
        return [tool if "function" in tool else {"type": "function", "function": tool} for tool in self._tools]

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Carry out one reply: its calls in order, then its answer."""
        self.turn_count += 1
        reply = parse_reply(action)
        lines = [self._shown(self._run(call)) for call in reply.calls]
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
        if reply.calls and not self._self_advancing:
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

    def _shown(self, result: Any) -> str:
        """A tool's result as the player reads it."""
        plain = self._self_advancing and isinstance(result, str)
        return result if plain else json.dumps(result, default=str)

    def _run(self, call: Call) -> Any:
        """The tool's result; where it raises, an ``error``, and the state is as it was before the call."""
        # The history only grows, and walking it at every call would make a long play quadratic. No tool changes the
        # tools or the plan.
        before = Snapshot(self, skip=[self._call_history, self._tools, self._plan, self._valid_schemas])
        try:
            result = self._dispatch(call)
        except (MemoryError, SchemaError):
            raise
        except Exception as error:  # noqa: BLE001 - a tool's fault is for the player to see and to mend
            before.restore()
            result = {"error": self._told(error)}
        self._call_history.append({"name": call.name, "arguments": call.arguments, "result": _copied(result)})
        return result

    def _told(self, error: Exception) -> str:
        """What the player reads of an exception: its type and the first line of its message, without the state."""
        text = str(error)
        lines = text.splitlines()
        message = lines[0][:_LONGEST_ERROR] if lines else ""
        if any(not isinstance(part, str | int | float) for part in error.args):
            message = ""  # as of ``assert x, self.__dict__``
        elif any(_shows(text, held) for held in (vars(self), self._state, self._plan)):
            message = ""
        kind = type(error).__name__
        if isinstance(error, ValueError) and message:
            return message
        return f"{kind}: {message}" if message else kind

    def _dispatch(self, call: Call) -> Any:
        schemas = {tool.get("function", tool).get("name"): tool.get("function", tool) for tool in self.get_tools()}
        method = getattr(self, f"tool_{call.name}", None)
        if method is None or (schemas and call.name not in schemas):
            raise ValueError(f"there is no tool {call.name!r}; there are {', '.join(map(str, schemas))}")
        schema = schemas.get(call.name, {}).get("parameters")
        return method(**(call.arguments if schema is None else _fitted(call, self._closed(call.name, schema))))

    def _closed(self, name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
        """``_closed`` of a tool's schema, which is checked once an episode and not at every call."""
        known, whole = self._valid_schemas.get(id(schema), (None, {}))
        if known is not schema:
            whole = _closed(schema, name)
            self._valid_schemas[id(schema)] = schema, whole
        return whole

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
        if self._self_advancing:
            if self._check_answer(answer):
                return "Done.", 1.0, True
            return self._wrong(answer), 0.0, False
        if self._current_msg + 1 < len(self._user_messages):
            self._current_msg += 1
            return f"User: {self._user_messages[self._current_msg]}", 0.0, False
        share = self._share_met(answer)
        if share == 1.0 or self.partial_credit:
            return "Done.", share, True
        return self._wrong(answer), 0.0, False

    def _wrong(self, answer: str) -> str:
        """The feedback on a wrong answer; the authors' programs define the method without an argument."""
        feedback: Callable[..., str] = self._incorrect_answer_feedback
        return (
            feedback(answer)
            if _takes_answer(getattr(feedback, "__func__", None) or feedback, inspect.ismethod(feedback))
            else feedback()
        )

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

    def _incorrect_answer_feedback(self, answer: str = "") -> str:
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


def _copied(result: Any) -> Any:
    """A copy that no later change of the state reaches; most results are flat, which is copied at once."""
    if type(result) is dict and all(type(value) in _FLAT for value in result.values()):
        return result.copy()
    return copy.deepcopy(result)


def _shows(text: str, held: Any) -> bool:
    """Whether a text holds the beginning of what ``held`` looks like in print, which takes long to write out."""
    if not held or (isinstance(held, dict | list) and not any(mark in text for mark in "{[(")):
        return False
    return repr(held)[:_TELLING] in text


@functools.cache
def _takes_answer(feedback: Callable[..., str], is_method: bool) -> bool:
    """Whether a function takes an argument, besides the object where it is a method's."""
    try:
        inspect.signature(feedback).bind(*[None] * (1 + is_method))
    except TypeError:
        return False
    return True


def fit(call: Call, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The call's arguments in the form that ``schema`` asks for. What the schema does not name is refused.

    Raises ``ValueError`` with a message for the player where they do not fit, and ``SchemaError`` where the schema
    itself is invalid.
    """
    return _fitted(call, _closed(schema, call.name))


def _closed(schema: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The schema of the tool ``name``, checked, so that it refuses what it does not name."""
    whole: dict[str, Any] = {"additionalProperties": False, **schema}
    check_schema(whole, f"the schema of {name}")
    return whole


def _fitted(call: Call, schema: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return dict(coerce(call.arguments, schema))
    except ValueError as error:
        message = str(error)
    raise ValueError(message[1:] if message.startswith(".") else f"{call.name} {message}")


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
    With ``partial_credit`` the difference counts as one more item of the check list.
    """

    side_effect_reward: float | None = None
    """Paid for the last answer, whatever else is met, where a row was touched that had to stay; ``None``: no such rule.

    It needs ``_expected_changes`` and ``partial_credit``.
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
        if self.partial_credit and self.side_effect_reward is not None and self._side_effects():
            return self.side_effect_reward
        return 0.0 if not self.partial_credit else share * (1 - 1 / (1 + len(self._message_criteria)))

    def _side_effects(self) -> bool:
        """Whether a row was changed or removed that had to stay, or more rows were added than expected.

        A wrong value in the right row is none: the check list sees it.
        """
        for table, found in self.changes().items():
            expected = (self._expected_changes or {}).get(table, {})
            spared = [row for row in found["removed"] if row not in expected.get("removed", [])]
            if spared or len(found["added"]) > len(expected.get("added", [])):
                return True
        return False
