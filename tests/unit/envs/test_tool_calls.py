from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spadework.envs.tool_calls import Call, coerce, fit, parse_reply, played_text, render_call, schema_of

WORDS = st.text(st.characters(exclude_characters="<>", codec="utf-8"), max_size=12)
NAMES = st.from_regex(r"[a-z_]{1,10}", fullmatch=True)


def test_json_and_xml_forms_in_order_with_the_last_answer():
    text = (
        '<think><tool_call>{"name": "no"}</tool_call></think>First '
        '<tool_call>\n{"name": "a", "arguments": {"x": 1}}\n</tool_call>'
        "<tool_call>\n<function=b>\n<parameter=y>\ntwo\nlines\n</parameter>\n</function>\n</tool_call>"
        "<function=c></function><answer>1</answer> or <answer> 2 </answer>"
    )
    reply = parse_reply(text)
    assert reply.calls == (Call("a", {"x": 1}), Call("b", {"y": "two\nlines"}), Call("c", {}))
    assert reply.answer == "2"
    assert reply.problems == ()


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>{'name': 'a'}</tool_call>",
        "<tool_call>[1]</tool_call>",
        '<tool_call>{"arguments": {}}</tool_call>',
        '<tool_call>{"name": "a", "arguments": [1]}</tool_call>',
        '<tool_call>{"name": "a", "arguments": "{x"}</tool_call>',
        '<tool_call>{"name": "a"}',
        '{"name": "a"}</tool_call>',
        "<tool_call><function=a></tool_call>",
        "<function=a><parameter=x>1",
        "<tool_call></tool_call>",
    ],
)
def test_a_malformed_call_is_a_problem_and_no_call(text):
    reply = parse_reply(text)
    assert reply.calls == ()
    assert len(reply.problems) == 1


def test_good_calls_survive_a_malformed_one():
    reply = parse_reply('<tool_call>{"name": "a"}</tool_call><tool_call>{oops}</tool_call>')
    assert [call.name for call in reply.calls] == ["a"]
    assert len(reply.problems) == 1


@given(st.text(alphabet='<>/{}"=: \ntool_cafunswer', max_size=120))
def test_parsing_never_raises(text):
    parse_reply(text)
    played_text(text)


@given(NAMES, st.dictionaries(NAMES, st.one_of(WORDS, st.integers(), st.booleans(), st.lists(st.integers()))))
def test_what_is_rendered_in_json_is_read_back(name, arguments):
    assert parse_reply(render_call(name, arguments)).calls == (Call(name, json.loads(json.dumps(arguments))),)


@given(st.integers(), st.booleans(), st.lists(st.integers(), max_size=3), WORDS)
def test_what_is_rendered_in_xml_is_read_back_by_its_schema(number, flag, items, text):
    arguments = {"n": number, "b": flag, "l": items, "t": text.strip()}
    kinds = {"n": "integer", "b": "boolean", "l": "array", "t": "string"}
    schema = {"properties": {key: {"type": kind} for key, kind in kinds.items()}}
    (call,) = parse_reply(render_call("f", arguments, "xml")).calls
    assert fit(call, schema) == arguments


@pytest.mark.parametrize(
    ("value", "schema", "expected"),
    [
        ("5", {"type": "integer"}, 5),
        (5.0, {"type": "integer"}, 5),
        ("5.5", {"type": "number"}, 5.5),
        (5, {"type": "number"}, 5),
        (5, {"type": "string"}, "5"),
        ("5", {"type": "string"}, "5"),
        ("True", {"type": "boolean"}, True),
        ("[1, 2]", {"type": "array", "items": {"type": "integer"}}, [1, 2]),
        (["1"], {"type": "array", "items": {"type": "integer"}}, [1]),
        ('{"a": 1}', {"type": "object"}, {"a": 1}),
        (None, {"type": ["string", "null"]}, None),
        ("5", {}, "5"),
        ("b", {"type": "string", "enum": ["a", "b"]}, "b"),
    ],
)
def test_coercion_follows_the_schema(value, schema, expected):
    result = coerce(value, schema)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ("five", {"type": "integer"}),
        (5.5, {"type": "integer"}),
        (True, {"type": "integer"}),
        (1, {"type": "boolean"}),
        ("x", {"type": "array"}),
        (None, {"type": "string"}),
        ("c", {"type": "string", "enum": ["a", "b"]}),
        (["x"], {"type": "array", "items": {"type": "integer"}}),
    ],
)
def test_what_does_not_fit_is_refused(value, schema):
    with pytest.raises(ValueError, match="must be"):
        coerce(value, schema)


def test_invented_and_missing_arguments_are_refused():
    schema = {"properties": {"x": {"type": "integer"}}, "required": ["x"]}
    with pytest.raises(ValueError, match="does not take y"):
        fit(Call("f", {"x": 1, "y": 2}), schema)
    with pytest.raises(ValueError, match="needs x"):
        fit(Call("f", {}), schema)
    with pytest.raises(ValueError, match="x must be of type integer"):
        fit(Call("f", {"x": "one"}), schema)


def test_only_text_with_a_call_or_an_answer_is_played():
    assert played_text("<think>hm</think> <answer>4</answer>") == "<answer>4</answer>"
    assert played_text("I would say 4.") is None
    assert played_text("<tool_call>{oops") == "<tool_call>{oops"


def test_schemas_are_found_by_name():
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"a": 1}}}, {"name": "g"}]
    assert schema_of(tools, "f") == {"a": 1}
    assert schema_of(tools, "g") == {}
    assert schema_of(tools, "h") is None
