from __future__ import annotations

import json
import random
from collections import Counter, deque

import pytest

from spadework.envs.json_schema import SchemaError
from spadework.envs.tool_env import SqliteToolEnv, ToolUseBaseEnv


def call(name, **arguments):
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


class BoxEnv(ToolUseBaseEnv):
    def reset(self, seed=None):
        self._state = {"box": []}
        self._user_messages = ["Put in 1.", "Put in 2.", "Leave it."]
        self._message_criteria = [lambda s: 1 in s["box"], lambda s: 2 in s["box"], lambda s: len(s["box"]) == 2]
        self._plan = [[("put", {"n": 1})], [("put", {"n": 2})], []]
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        self._tools = [{"name": "put", "parameters": schema}, {"name": "boom", "parameters": {"type": "object"}}]
        return self._user_messages[0], {}

    def tool_put(self, n):
        self._state["box"].append(n)
        return {"size": len(self._state["box"])}

    def tool_boom(self):
        raise KeyError("fuse")


@pytest.fixture
def env():
    env = BoxEnv()
    env.reset(seed=0)
    return env


def test_instructions_come_one_at_a_time_and_the_end_pays(env):
    text, reward, ended, cut, info = env.step(call("put", n=1))
    assert text == '{"size": 1}\nUser: Put in 2.'
    assert (reward, ended, cut, info) == (0.0, False, False, {"format": "call"})
    assert env.step(call("put", n=2))[0].endswith("User: Leave it.")
    assert env.step("<answer>done</answer>")[1:4] == (1.0, True, False)


def test_the_plan_is_played_by_the_oracle(env):
    for _ in range(9):
        _, reward, ended, _, _ = env.step(env.solution())
        if ended:
            break
    assert (reward, ended) == (1.0, True)


def test_an_answer_moves_on_and_is_paid_only_when_all_is_met(env):
    for message in ("Put in 2.", "Leave it."):
        text, reward, ended, *_ = env.step("<answer>done</answer>")
        assert (text, reward, ended) == (f"User: {message}", 0.0, False)
    text, reward, ended, *_ = env.step("<answer>done</answer>")
    assert (reward, ended) == (0.0, False)
    assert "1" not in text
    assert env.step(call("put", n=1) + call("put", n=2) + "<answer>done</answer>")[1:3] == (1.0, True)


def test_criteria_hold_on_the_final_state(env):
    env.step(call("put", n=1))
    env.step(call("put", n=2))
    env.step(call("put", n=3))
    assert env.step("<answer>done</answer>")[1] == 0.0


def test_partial_credit_pays_the_share_and_ends(env):
    env.partial_credit = True
    env.step(call("put", n=1))
    env.step("<answer>done</answer>")
    _, reward, ended, *_ = env.step("<answer>done</answer>")
    assert reward == pytest.approx(1 / 3)
    assert ended


def test_malformed_calls_cost_and_text_is_answered(env):
    text, reward, ended, _, info = env.step("<tool_call>{put}</tool_call>")
    assert (reward, ended, info["format"]) == (-0.1, False, "malformed")
    assert text.startswith("Malformed tool call")
    assert env.step("hello")[1] == 0.0
    assert env.step("hello")[4]["format"] == "text"


def test_a_format_reward_is_a_choice(env):
    env.format_reward = 0.05
    assert env.step(call("put", n=1))[1] == 0.05
    assert env.step("hello")[1] == 0.0
    assert env.step(call("put", n=1) + "<tool_call>{")[1] == -0.1


@pytest.mark.parametrize(
    ("action", "said"),
    [
        (call("fly"), "there is no tool 'fly'; there are put, boom"),
        (call("put"), "put needs n"),
        (call("put", n="x"), "n must be of type integer, not str"),
        (call("put", n=1, m=2), "put does not take m"),
        (call("boom"), "KeyError: 'fuse'"),
    ],
)
def test_a_call_that_must_fail_fails_and_changes_nothing(env, action, said):
    text, reward, *_ = env.step(action)
    assert json.loads(text) == {"error": said}
    assert reward == 0.0
    assert env._state == {"box": []}
    assert len(env._call_history) == 1


def test_numbers_as_text_and_the_xml_form(env):
    assert env.step(call("put", n="1"))[0].startswith('{"size": 1}')
    env.step("<tool_call><function=put><parameter=n>2</parameter></function></tool_call>")
    assert env._state["box"] == [1, 2]


def test_the_turn_limit_truncates():
    env = BoxEnv(max_turns=2)
    env.reset()
    assert env.step("hello")[3] is False
    assert env.step("hello")[2:4] == (False, True)


def test_an_answer_on_the_last_turn_is_paid(env):
    env.max_turns = 1
    assert env.step(call("put", n=1) + call("put", n=2))[3] is True
    env.reset()
    env._state["box"] = [1, 2]
    env._current_msg = 2
    assert env.step("<answer>done</answer>")[1:4] == (1.0, True, False)


def test_reset_starts_over_though_the_program_forgets_to(env):
    env.step(call("put", n=1))
    env.reset(seed=1)
    assert (env.turn_count, env._current_msg, env._call_history) == (0, 0, [])


def test_attributes_exist_though_the_program_forgets_super():
    class BareEnv(ToolUseBaseEnv):
        def __init__(self):
            self.max_turns = 3

    env = BareEnv()
    assert env.get_tools() == []
    assert env.solution() is None
    assert env.step("<answer>x</answer>")[1:4] == (0.0, False, False)
    assert env._tools is not BareEnv()._tools


@pytest.mark.parametrize(
    ("expected", "given", "right"),
    [
        ("Paris", " paris ", True),
        ("Paris", "Rome", False),
        (12.5, "12.51", True),
        (12.5, "12.52", False),
        (1234, "1,234", True),
        (20, "$20", True),
        ("7", "seven", False),
        (None, "None", False),
        ("", "", False),
    ],
)
def test_answers_are_compared_without_case_and_to_a_hundredth(expected, given, right):
    env = ToolUseBaseEnv()
    env._expected_answer = expected
    assert env._check_answer(given) is right
    assert (env.step(f"<answer>{given}</answer>")[1] == 1.0) is right


def test_schemas_are_given_in_the_openai_format(env):
    (put, _) = env.get_tools()
    assert put["type"] == "function"
    assert put["function"]["name"] == "put"


class RowsEnv(SqliteToolEnv):
    _schema = "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT);"

    def reset(self, seed=None):
        self._fill({"t": [(1, "a"), (2, "b")]})
        self._user_messages = ["Rename 1 to c.", "Delete 2."]
        self._message_criteria = [
            "SELECT name = 'c' FROM t WHERE id = 1",
            lambda db: db.execute("SELECT COUNT(*) FROM t WHERE id = 2").fetchone()[0] == 0,
        ]
        self._tools = [{"name": "run", "parameters": {"type": "object", "properties": {"sql": {"type": "string"}}}}]
        return self._user_messages[0], {}

    def tool_run(self, sql):
        self._state.execute(sql)
        return self.query("SELECT * FROM t ORDER BY id")


def test_a_database_is_the_state():
    env = RowsEnv()
    env.reset()
    text, *_ = env.step(call("run", sql="UPDATE t SET name = 'c' WHERE id = 1"))
    assert text.splitlines() == ['[{"id": 1, "name": "c"}, {"id": 2, "name": "b"}]', "User: Delete 2."]
    env.step(call("run", sql="DELETE FROM t WHERE id = 2"))
    assert env.changes() == {"t": {"added": [(1, "c")], "removed": [(1, "a"), (2, "b")]}}
    assert env.step("<answer>done</answer>")[1:3] == (1.0, True)
    env.reset()
    assert env.changes() == {}


def test_a_bad_statement_is_an_error_for_the_player_and_a_bad_criterion_is_not_met():
    env = RowsEnv()
    env.reset()
    assert "OperationalError" in env.step(call("run", sql="DROP TABLE nothing"))[0]
    env._message_criteria[0] = "SELECT nothing FROM nowhere"
    assert env._met(0) is False


def test_the_whole_difference_may_be_expected():
    env = RowsEnv()
    env.reset()
    env._expected_changes = {"t": {"added": [(1, "c")], "removed": [(1, "a"), (2, "b")]}}
    for sql in ("UPDATE t SET name = 'c' WHERE id = 1", "DELETE FROM t WHERE id = 2", "INSERT INTO t VALUES (9, 'x')"):
        env.step(call("run", sql=sql))
    assert env.step("<answer>done</answer>")[1] == 0.0
    env.step(call("run", sql="DELETE FROM t WHERE id = 9"))
    assert env.step("<answer>done</answer>")[1] == 1.0


class HalfEnv(ToolUseBaseEnv):
    """Its tools change everything that they can, and then raise."""

    def reset(self, seed=None):
        self.held = {"a": [1]}
        self._state = {"held": self.held, "count": Counter("aab"), "queue": deque([1, 2]), "tags": {1}}
        self.spent, self.rng = 0, random.Random(7)
        self._message_criteria, self._user_messages = [lambda _: self.held["a"] == [1]], ["Go."]
        names = ("spoil", "dump", "text", "lines")
        self._tools = [{"name": name, "parameters": {"type": "object"}} for name in names]
        return "Go.", {}

    def tool_spoil(self):
        self._state["held"]["a"].append(2)
        self._state["count"].update("b")
        self._state["queue"].clear()
        self._state["tags"].add(2)
        self.spent += 1
        self.fresh = self.rng.random()
        self._state = {}
        raise ValueError("no")

    def tool_dump(self):
        assert self.spent, self.__dict__

    def tool_text(self):
        raise RuntimeError(f"state: {self._state}")

    def tool_lines(self):
        raise KeyError("x" * 500 + "\n" + "secret")


def test_a_tool_that_raises_leaves_everything_as_it_was():
    env = HalfEnv()
    env.reset()
    state, rng = env._state, env.rng.getstate()
    assert json.loads(env.step(call("spoil"))[0]) == {"error": "no"}
    assert env._state is state
    assert env._state["held"] is env.held
    assert env.held == {"a": [1]}
    assert env._state == {"held": {"a": [1]}, "count": Counter("aab"), "queue": deque([1, 2]), "tags": {1}}
    assert (env.spent, hasattr(env, "fresh"), env.rng.getstate()) == (0, False, rng)
    assert env._met(0)


@pytest.mark.parametrize(("tool", "said"), [("dump", "AssertionError"), ("text", "RuntimeError")])
def test_an_exception_does_not_tell_the_state(tool, said):
    env = HalfEnv()
    env.reset()
    assert json.loads(env.step(call(tool))[0]) == {"error": said}


def test_an_exception_is_told_in_one_short_line():
    env = HalfEnv()
    env.reset()
    text = env.step(call("lines"))[0]
    assert len(text) < 250
    assert "secret" not in text


@pytest.mark.parametrize("commits", [False, True])
def test_a_database_is_put_back_whether_the_tool_committed_or_not(commits):
    class FailingEnv(RowsEnv):
        def tool_run(self, sql):
            self._state.execute(sql)
            if commits:
                self._state.commit()
            self._state.execute("SELECT * FROM nowhere")

    env = FailingEnv()
    env.reset()
    env._state.execute("INSERT INTO t VALUES (3, 'kept')")
    assert "OperationalError" in env.step(call("run", sql="DELETE FROM t"))[0]
    assert [row["id"] for row in env.query("SELECT id FROM t ORDER BY id")] == [1, 2, 3]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_json_does_not_have_is_malformed(env, number):
    text, reward, *_ = env.step(f'<tool_call>{{"name": "put", "arguments": {{"n": {number}}}}}</tool_call>')
    assert text.startswith("Malformed tool call")
    assert reward == -0.1
    in_text = env.step(call("put", n=number))[0]
    assert json.loads(in_text) == {"error": "n must be of type integer, not str"}
    assert env._state == {"box": []}


def test_parameters_are_read_as_arguments_and_both_at_once_are_malformed(env):
    assert env.step('<tool_call>{"name": "put", "parameters": {"n": 4}}</tool_call>')[0].startswith('{"size": 1}')
    both = '<tool_call>{"name": "put", "parameters": {"n": 4}, "arguments": {"n": 5}}</tool_call>'
    assert env.step(both)[1] == -0.1
    assert env._state == {"box": [4]}


def test_an_invalid_schema_is_the_programs_fault_and_named(env):
    env._tools[0]["parameters"] = {"type": "object", "properties": {"n": {"type": "float"}}}
    with pytest.raises(SchemaError, match=r"the schema of put, properties\.n, has type = 'float'"):
        env.step(call("put", n=1))
