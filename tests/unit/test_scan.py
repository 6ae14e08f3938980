"""The one scanner: what is a mark and what is not, and that no text is slow to read."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spadework import scan
from spadework.scan import Call, blocks, last_box, parse_reply, strip_thinking, without_calls

MARKS = (
    *("<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_call", "<function=a>", "<function=", "</function>"),
    *("<parameter=x>", "</parameter>", "<answer>", "</answer>", "\\boxed{", "\\{", "\\", "{", "}", "[", '"', "\\'''\n"),
    *("```\n", "```python\n", "~~~\n", "'''\n```\n", '"""\n```py\n', '{"a":', '{"name": "a", "arguments": {', "'", " "),
)
UNCLOSED = (
    *MARKS,
    *("<tool_call>{", '<tool_call>{"', '<tool_call>{"a":"', '<tool_call>{"\n', '<tool_call>{"a":[', "<tool_call>```"),
    *('<function=a><parameter=x>["', "<function=a><parameter=x>", '<tool_call>{",":":1,"', "<function=a></tool_call>"),
)
ENDS = ("</think>", "</tool_call>", "</function>", '<function=a><parameter=x>["</function>"]</parameter>')
READERS: tuple[Callable[[str], object], ...] = (
    *(strip_thinking, last_box, parse_reply, without_calls),
    lambda text: list(blocks(text)),
)


@pytest.mark.parametrize(
    ("reply", "content"),
    [
        (r"\boxed{a\}b}", r"a\}b"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{a\\}", r"a\\"),
        (r"\\boxed{4}", "4"),
        (r"\boxed{3 \boxed{4}", "4"),
        (r"\boxed{\boxed{4}}", r"\boxed{4}"),
        (r"{ } } \boxed{5}", "5"),
        (r"{ { \boxed{5}", "5"),
    ],
)
def test_boxes_know_escapes_and_nesting(reply: str, content: str) -> None:
    assert last_box(reply) == content


INSIDE = "</tool_call> </function> </parameter> <think> </think> <answer>no</answer> <tool_call> \\\" '"


def test_a_mark_inside_of_a_json_string_is_part_of_the_string() -> None:
    import json

    written = json.dumps({"name": "note", "arguments": {"text": INSIDE}})
    reply = f"<think>so</think> <tool_call>\n{written}\n</tool_call> <answer>yes</answer>"
    assert parse_reply(reply) == ((Call("note", {"text": INSIDE}),), "yes", ())
    assert parse_reply(strip_thinking(reply)).calls == (Call("note", {"text": INSIDE}),)
    assert without_calls(reply).split() == ["<answer>yes</answer>"]


def test_a_mark_inside_of_a_json_argument_of_the_xml_form_is_part_of_it() -> None:
    import json

    written = json.dumps([INSIDE])
    call = f"<function=note>\n<parameter=texts>\n{written}\n</parameter>\n<parameter=n>\n3\n</parameter>\n</function>"
    for reply in (call, f"<tool_call>\n{call}\n</tool_call>"):
        assert parse_reply(reply) == ((Call("note", {"texts": written, "n": "3"}),), None, ())
        assert strip_thinking(reply) == reply


def test_text_that_begins_like_json_is_still_text() -> None:
    reply = '<function=say><parameter=text>"Yes", he said.</parameter></function>'
    assert parse_reply(reply).calls == (Call("say", {"text": '"Yes", he said.'}),)


def test_a_call_that_is_no_call_does_not_hide_the_next() -> None:
    reply = '<tool_call>{"arguments": {"x": "</tool_call>"}}</tool_call><tool_call>{"name": "a"}</tool_call>'
    read = parse_reply(reply)
    assert (read.calls, len(read.problems)) == ((Call("a", {}),), 1)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_only_numbers_of_json_are_numbers(number: str) -> None:
    read = parse_reply(f'<tool_call>{{"name": "pay", "arguments": {{"amount": {number}}}}}</tool_call>')
    assert (read.calls, len(read.problems)) == ((), 1)


def test_a_call_longer_than_one_look_is_read() -> None:
    text = "x" * 5_000 + "é" * 5_000
    assert parse_reply(
        f'<tool_call>{{"name": "a", "arguments": {{"t": "{text}", "n": {"1" * 900}}}}}</tool_call>'
    ).calls == (Call("a", {"t": text, "n": int("1" * 900)}),)


def test_thinking_that_the_prompt_opened_ends_with_its_closing_tag() -> None:
    assert strip_thinking('maybe <tool_call>{"name": "no"}</tool_call></think>yes') == "yes"
    assert strip_thinking("maybe <tool_call> or so </think>yes</think>") == "yes</think>"
    assert strip_thinking("a<think>b</think>c<think>d") == "ac"


def test_a_fence_inside_of_a_string_closes_nothing() -> None:
    text = 'Look:\n```py\nx = """\n```\ny\n```\n"""\nz = \'```\'\n```\nand\n~~~~ text\n~~~\n~~~~\n'
    first, second = blocks(text)
    assert first.content(text) == 'x = """\n```\ny\n```\n"""\nz = \'```\'\n'
    assert (first.info, first.closed) == ("py", True)
    assert (second.content(text), second.info) == ("~~~\n", "text")


def test_a_fence_with_a_name_always_opens() -> None:
    text = "stray\n```\nprose, it's fine\n```python\nx = 1\n"
    _, second = blocks(text)
    assert (second.content(text), second.closed) == ("x = 1\n", False)


def test_an_indented_block_is_moved_to_the_margin() -> None:
    text = "1. so\n\n   ```python\n   if x:\n       y\n\n   ```\n"
    (block,) = blocks(text)
    assert block.content(text) == "if x:\n    y\n\n"


@given(st.lists(st.sampled_from((*UNCLOSED, *ENDS, "a", "\n", ","))).map("".join))
def test_reading_raises_nothing_and_loses_no_plain_text(text: str) -> None:
    for read in READERS:
        read(text)
    assert strip_thinking(text) == text or "think>" in text
    for block in blocks(text):
        assert 0 <= block.start <= block.end <= block.after <= len(text)


def seconds(read: Callable[[str], object], text: str) -> float:
    """CPU seconds of one reading, the best of five."""
    best = 9.0
    gc.disable()
    for _ in range(5):
        started = time.thread_time()
        read(text)
        best = min(best, time.thread_time() - started)
    gc.enable()
    return best


@pytest.mark.parametrize("mark", UNCLOSED)
def test_unclosed_marks_are_read_at_once(mark: str) -> None:
    """100,000 characters take under 50 ms where a million additions take 10: a busy machine slows both."""
    text = mark * (100_000 // len(mark))
    for read in READERS:
        taken = seconds(read, text)
        assert taken < 0.05 or taken < 5 * seconds(lambda _: sum(range(1_000_000)), "")


@pytest.mark.parametrize("mark", UNCLOSED)
@pytest.mark.parametrize("end", ENDS)
def test_the_time_grows_as_the_text_does(mark: str, end: str) -> None:
    """Four times the text takes about four times the time; sixteen times would be quadratic."""
    once, more = (f"<think></think>{mark * (length // len(mark))}{end}" for length in (30_000, 120_000))
    for read in READERS:
        longer = seconds(read, more)
        assert longer < 0.005 or longer < 12 * seconds(read, once)


def test_the_scanner_imports_the_standard_library_only() -> None:
    """The sandbox loads it by its path."""
    import ast
    import sys
    from pathlib import Path

    imports = [
        node
        for node in ast.walk(ast.parse(Path(scan.__file__).read_text()))
        if isinstance(node, ast.ImportFrom | ast.Import)
    ]
    names = {node.module if isinstance(node, ast.ImportFrom) else node.names[0].name for node in imports}
    assert {str(name).partition(".")[0] for name in names} <= sys.stdlib_module_names
