r"""The one scanner of what a model writes: thinking, boxes, tool calls and code fences.

Every function reads its text once from the left, in a time that grows linearly with its length whatever stands in it,
and raises nothing. A mark inside a JSON string of a tool call, or inside a Python string of a program, is no mark.

Standard library only: the sandbox loads this file by its path, so that a program reads its player as the host does.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any, NamedTuple

THINK, THINK_END = "<think>", "</think>"
_CALL_END, _FUNCTION_END, _PARAMETER_END = "</tool_call>", "</function>", "</parameter>"

_THINKING_OR_CALL = re.compile(r"</?think>|<tool_call>|<function=")
_CALL = re.compile(r"<tool_call>|<function=")
_LEFT_OPEN = re.compile(r"<tool_call|<function=|</tool_call>|</function>")
_FUNCTION = re.compile(r"<function=([^<>\s]++)>")
_PARAMETER_OR_END = re.compile(r"<parameter=([^<>\s]++)>|</function>")
# Possessive quantifiers, so that a long run of blanks is not tried again from each of them.
_BEFORE_BODY = re.compile(r"<tool_call>\s*+(?:```\w*+\s*+)?")
_AFTER_BODY = re.compile(r"\s*+(?:```\s*+)?</tool_call>")
_AFTER_VALUE = re.compile(r"\s*+</parameter>")
_AFTER_FUNCTION = re.compile(r"\s*+</tool_call>")
_BODY_FENCE = re.compile(r"\A```\w*\s*|\s*```\Z")
_BOX_OR_BRACE = re.compile(r"\\boxed\s*+\{|\\\\(?!boxed\s*+\{)|\\[{}]|[{}]")


class Call(NamedTuple):
    """One tool call. The XML form gives every argument as text: the tool's schema says how to read it."""

    name: str
    arguments: dict[str, Any]


class Reply(NamedTuple):
    """What a player's text asks for; ``problems`` says what in it could not be read."""

    calls: tuple[Call, ...] = ()
    answer: str | None = None
    problems: tuple[str, ...] = ()


class _Text:
    """A text and where its marks stand, each kind listed once: to look for the next one takes no second reading."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.hopeless: set[int] = set()
        """Marks from which no end of a function is reached."""
        self._places: dict[str, list[int]] = {}
        self._marks: list[re.Match[str]] | None = None

    def find(self, mark: str, start: int) -> int:
        """Where ``mark`` stands next from ``start`` on; -1 when it does not."""
        if mark not in self._places:
            self._places[mark] = [found.start() for found in re.finditer(re.escape(mark), self.text)]
        places = self._places[mark]
        index = bisect_left(places, start)
        return places[index] if index < len(places) else -1

    def parameter_or_end(self, start: int) -> re.Match[str] | None:
        """The next ``<parameter=KEY>`` or ``</function>`` from ``start`` on."""
        if self._marks is None:
            self._marks = list(_PARAMETER_OR_END.finditer(self.text))
        index = bisect_left(self._marks, start, key=re.Match.start)
        return self._marks[index] if index < len(self._marks) else None


def strip_thinking(text: str) -> str:
    """The text without ``<think>`` blocks. An unclosed block runs to the end; a bare closing tag ends one.

    Whole tool calls are passed over: a tag inside an argument is part of the argument.
    """
    return _strip(text, bare=True)


def _strip(text: str, bare: bool) -> str:
    """The text without thinking; ``bare`` says whether a closing tag before any opening one ends a block too."""
    if "think>" not in text:
        return text
    searched, kept, position = _Text(text), [""], 0
    while mark := _THINKING_OR_CALL.search(text, position):
        start, after = mark.span()
        if mark[0] == THINK:
            kept.append(text[position:start])
            end = searched.find(THINK_END, after)
            position, bare = len(text) if end < 0 else end + len(THINK_END), False
        elif mark[0] == THINK_END and bare:
            kept, position, bare = [], after, False
        else:
            whole = None if mark[0] == THINK_END else _whole_call(searched, start)
            after = whole[1] if whole else after
            kept.append(text[position:after])
            position = after
    return "".join([*kept, text[position:]])


def last_box(text: str) -> str | None:
    r"""The content of the last balanced ``\boxed{...}`` outside of thinking, stripped; ``None`` without a filled one.

    An escaped brace is part of the content and opens nothing; an unclosed box is none. The last box to close is the
    last one that stands in no other.
    """
    if "\\boxed" not in text:
        return None
    text = strip_thinking(text)
    found = ""
    opened: list[int] = []
    """Of each brace that is open: where its box's content begins, or -1 where it belongs to no box."""
    for mark in _BOX_OR_BRACE.finditer(text):
        if mark[0] == "{":
            opened.append(-1)
        elif mark[0].startswith("\\boxed"):
            opened.append(mark.end())
        elif mark[0] == "}" and opened:
            start = opened.pop()
            if start >= 0:
                found = text[start : mark.start()].strip()
    return found or None


def parse_reply(text: str) -> Reply:
    """Every call in order, in the JSON form or the XML form, and the last ``<answer>`` outside of calls."""
    calls: list[Call] = []
    problems: list[str] = []
    said: list[str] = []
    for part in _parts(text):
        if isinstance(part, Call):
            calls.append(part)
        elif isinstance(part, _Problem):
            problems.append(part.text)
        else:
            said.append(part)
    rest = "".join(said)
    if _LEFT_OPEN.search(rest):
        problems.append("a tool call is not closed, or its tags do not match")
    return Reply(tuple(calls), _last_answer(rest), tuple(problems))


def without_calls(text: str) -> str:
    """The text without thinking and without closed tool calls, readable or not."""
    return "".join(part for part in _parts(text) if isinstance(part, str))


class _Problem(NamedTuple):
    """Why a closed call could not be read."""

    text: str


def _parts(text: str) -> Iterator[Call | _Problem | str]:
    """The text from left to right: the calls in it, readable or not, and what stands between them."""
    searched, position = _Text(_strip(text, bare=False)), 0
    text = searched.text
    while mark := _CALL.search(text, position):
        yield text[position : mark.start()]
        found = _whole_call(searched, mark.start()) or _broken_call(searched, mark)
        if found is None:
            yield mark[0]
            position = mark.end()
        else:
            yield found[0]
            position = found[1]
    yield text[position:]


def _whole_call(searched: _Text, start: int) -> tuple[Call | _Problem, int] | None:
    """The call that begins at ``start`` and where it ends; ``None`` where what stands there is not closed as it should.

    A call in the JSON form may be closed as it should and still be no call, for want of a name.
    """
    text = searched.text
    if text.startswith("<function=", start):
        return _xml_call(searched, start)
    opening = _BEFORE_BODY.match(text, start)
    at = opening.end() if opening else start
    if text.startswith("<function=", at):
        found = _xml_call(searched, at)
        end = _AFTER_FUNCTION.match(text, found[1]) if found else None
        return (found[0], end.end()) if found and end else None
    if not text.startswith("{", at) or searched.find(_CALL_END, at) < 0:
        return None
    read = _read_json(text, at)
    end = _AFTER_BODY.match(text, read[1]) if read else None
    return (_as_call(read[0]), end.end()) if read and end else None


def _read_json(text: str, start: int) -> tuple[Any, int] | None:
    """The JSON value that begins at ``start`` and where it ends; ``None`` where there is none.

    Only as much of the text is looked at as the value needs: the decoder's errors count the lines of all that it got.
    """
    size = 1024
    while True:
        piece = text[start : start + size]
        try:
            value, length = JSON.raw_decode(piece)
        except json.JSONDecodeError as error:
            cut = len(piece) == size and (error.msg.startswith("Unterminated") or error.pos > size - 16)
            if not cut:
                return None
            size *= 4
        except (ValueError, RecursionError):
            return None
        else:
            return value, start + length


def _broken_call(searched: _Text, mark: re.Match[str]) -> tuple[Call | _Problem, int] | None:
    """What stands up to the next closing tag, read as well as it can be; ``None`` where no such tag follows."""
    closing = _CALL_END if mark[0] == "<tool_call>" else _FUNCTION_END
    end = searched.find(closing, mark.end())
    if end < 0:
        return None
    after = end + len(closing)
    if closing == _FUNCTION_END:
        return _Problem(_NO_XML_CALL), after
    body = searched.text[mark.end() : end].strip()
    if "<function=" in body:
        inside = _Text(body)
        found = _xml_call(inside, body.index("<function="))
        return (found[0] if found else _Problem(_NO_XML_CALL)), after
    return _json_call(body), after


def _json_call(body: str) -> Call | _Problem:
    try:
        value = JSON.decode(_BODY_FENCE.sub("", body))
    except (ValueError, RecursionError) as error:
        return _Problem(f"a tool call is not JSON: {error}")
    return _as_call(value)


def _as_call(value: Any) -> Call | _Problem:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return _Problem('a tool call needs the form {"name": ..., "arguments": {...}}')
    if "arguments" in value and "parameters" in value:
        return _Problem(f"the call of {value['name']} has both arguments and parameters")
    # Llama's templates call them parameters, and so do many models that were trained on them.
    arguments = value.get("arguments", value.get("parameters", {}))
    if isinstance(arguments, str):
        try:
            arguments = JSON.decode(arguments or "{}")
        except (ValueError, RecursionError):
            return _Problem(f"the arguments of {value['name']} are not JSON")
    return Call(value["name"], arguments) if isinstance(arguments, dict) else _Problem("arguments must be an object")


def _xml_call(searched: _Text, start: int) -> tuple[Call, int] | None:
    """The call of the XML form that begins at ``start`` and where it ends; ``None`` where it has no name or no end."""
    name = _FUNCTION.match(searched.text, start)
    if name is None or searched.find(_FUNCTION_END, start) < 0:
        return None
    arguments: dict[str, Any] = {}
    position, passed = name.end(), []
    while (mark := searched.parameter_or_end(position)) and mark.start() not in searched.hopeless:
        position = mark.end()
        if mark[0] == _FUNCTION_END:
            return Call(name[1], arguments), position
        passed.append(mark.start())
        value = _xml_value(searched, position)
        if value is not None:
            arguments[mark[1]], position = value
    searched.hopeless.update(passed)
    return None


def _xml_value(searched: _Text, start: int) -> tuple[str, int] | None:
    """The text of a parameter and where its closing tag ends; ``None`` where the function ends before it."""
    text = searched.text
    end = searched.find(_PARAMETER_END, start)
    if end < 0:
        return None
    first = start + text.startswith("\n", start)
    if text.startswith(("{", "[", '"'), first):
        read = _read_json(text, first)
        closing = _AFTER_VALUE.match(text, read[1]) if read else None
        if closing:
            return _without_newlines(text, first, closing.end() - len(_PARAMETER_END)), closing.end()
    if end > searched.find(_FUNCTION_END, start) >= 0:
        return None
    return _without_newlines(text, first, end), end + len(_PARAMETER_END)


def _without_newlines(text: str, start: int, end: int) -> str:
    return text[start:end].removesuffix("\n")


def _last_answer(text: str) -> str | None:
    """The content of the last ``<answer>`` block."""
    found, position = None, 0
    while (start := text.find("<answer>", position)) >= 0:
        end = text.find("</answer>", start)
        if end < 0:
            break
        found, position = text[start + len("<answer>") : end].strip(), end
    return found


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def _finite(written: str) -> float:
    number = float(written)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{written[:20]} is too large a number")
    return number


JSON = json.JSONDecoder(parse_float=_finite, parse_constant=_no_constant)
"""JSON's own numbers alone: NaN passes every comparison that a tool may make."""
_NO_XML_CALL = "a tool call needs the form <function=NAME><parameter=KEY>value</parameter></function>"


class Block(NamedTuple):
    """A fenced block of code in a text. ``start`` and ``end`` bound its content; ``after`` is where its fence ends."""

    info: str
    """What stands behind the opening fence, such as the language."""
    indent: int
    start: int
    end: int
    after: int
    closed: bool

    def content(self, text: str) -> str:
        """Its lines, as far to the left as its fence stands."""
        body = text[self.start : self.end]
        return re.sub(rf"^[ \t]{{1,{self.indent}}}", "", body, flags=re.MULTILINE) if self.indent else body


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a text, from its first to its last. An unclosed one runs to the next that has a name.

    Fences are of three or more backticks or tildes, at any indent. One inside a Python string closes nothing.
    """
    opening = _FENCE.search(text)
    while opening:
        closing = _closing_fence(text, opening)
        end = closing.start() if closing else len(text)
        closed = closing is not None and not closing["info"].strip()
        after = closing.end() if closing and closed else end
        start = min(opening.end() + 1, end)
        yield Block(opening["info"].strip(), len(opening["indent"]), start, end, after, closed)
        opening = _FENCE.search(text, after)


def _closing_fence(text: str, opening: re.Match[str]) -> re.Match[str] | None:
    """The fence that closes the block which ``opening`` opens, or that opens the next one by name."""
    endless: set[str] = set()
    """Quotes that open a string of several lines which nothing closes: they are taken for no quotes."""
    position = opening.end()
    while mark := _FENCE_OR_STRING.search(text, position):
        position = mark.end()
        if mark["ticks"]:
            if mark["info"].strip() or mark["ticks"].startswith(opening["ticks"]):
                return mark
        elif mark[0] in _LONG_STRING and mark[0] not in endless:
            string = _LONG_STRING[mark[0]].match(text, position)
            if string:
                position = string.end()
            else:
                endless.add(mark[0])
    return None


_FENCE_LINE = r"^(?P<indent>[ \t]*+)(?P<ticks>`{3,}|~{3,})(?P<info>[^`\n]*)$"
_FENCE = re.compile(_FENCE_LINE, re.MULTILINE)
_STRING = r"""\"{3}|'{3}|"(?:[^"\\\n]|\\.)*+"?|'(?:[^'\\\n]|\\.)*+'?|#.*"""
_FENCE_OR_STRING = re.compile(f"{_FENCE_LINE}|{_STRING}", re.MULTILINE)
_LONG_STRING = {
    quotes: re.compile(rf"(?:[^\\{quotes[0]}]|\\.|{quotes[0]}(?!{quotes[1:]}))*+{quotes}", re.DOTALL)
    for quotes in ('"""', "'''")
}
