"""Extract the program from a designer's reply: its last code block with an environment (method section 4, step 1)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from spadework.envs import contract
from spadework.envs.check import syntax
from spadework.scan import THINK, THINK_END, Block, blocks
from spadework.text import clean, parse_python

_CLASS = re.compile(r"^class[ \t]", re.MULTILINE)
_FENCE_LINE = re.compile(r"^[ \t]*(?:```|~~~).*$\n?", re.MULTILINE)
_CODE_LINE = re.compile(r"^(?:import |from \S+ import |class \w+|@\w|\"{3}|'{3}|#)", re.MULTILINE)
_PYTHON = re.compile(r"[{.\s]*py", re.IGNORECASE)
_MOST_MENDED = 4
"""How many blocks, counted from the last, are tried together with the text after their closing fence."""
_MOST_STARTS = 8
"""How many lines of a reply without fences are tried as the first line of its program."""


def extract_program(reply: str) -> tuple[str, bool]:
    """The program of a reply and whether it had to be mended.

    That is the last fenced block that parses and holds an environment class, whatever its fence is called and whatever
    follows it; an unclosed block runs to the end. Without such a block it is a reply that is a program itself. Failing
    both, it is the last block that calls itself Python, so that the checks can say what is wrong with it. It is empty
    where there is none.

    Where the program goes on behind its closing fence, the stray fences are taken out, which counts as mending: such a
    design is kept and scored 0.
    """
    text = _after_thinking(clean(reply).replace("\r\n", "\n"))
    found = list(blocks(text))
    for index, block in enumerate(reversed(found)):
        for source, mended in _readings(text, block, mend=index < _MOST_MENDED):
            if _holds_environment(source):
                return source, mended
    whole = _unfenced(text)
    if whole:
        return whole, False
    return _last_python(text, found)


def _after_thinking(text: str) -> str:
    """The reply without the thinking at its front; a tag in prose or inside of a program is no thinking."""
    if text.lstrip().startswith(THINK):
        return text.partition(THINK_END)[2]
    ends = [mark.start() for mark in re.finditer(THINK_END, text)]
    if not ends or _unfenced(text):
        return text
    programs = [
        range(block.start, block.end)
        for block in blocks(text)
        if THINK_END in text[block.start : block.end] and _holds_environment(block.content(text))
    ]
    for end in ends:
        if not any(end in program for program in programs):
            return text[end + len(THINK_END) :]
    return text


def _readings(text: str, block: Block, *, mend: bool) -> Iterator[tuple[str, bool]]:
    """The programs that a block may be, the likeliest first, and whether each is mended."""
    rest = text[block.after :]
    if mend and block.closed and _continues(rest):
        yield _trimmed(block.content(text) + _FENCE_LINE.sub("", rest.lstrip("\n"))), True
    yield _trimmed(block.content(text)), False


def _trimmed(source: str) -> str:
    return source.lstrip("\n").rstrip() + "\n"


def _continues(rest: str) -> bool:
    """Whether what follows a closing fence is more of the program: an indented line comes first."""
    line = re.search(r"^.*\S", rest, re.MULTILINE)
    return line is not None and line[0].startswith(("    ", "\t"))


def _holds_environment(source: str) -> bool:
    """Whether a source parses and has, at module level, a class with ``reset`` and ``step``, its own or inherited."""
    if not _CLASS.search(source):
        return False
    try:
        tree = parse_python(source)
    except SyntaxError:
        return False
    methods: dict[str, set[str]] = {base: {"reset", "step"} for base in contract.BASE_CLASSES - {"Env"}}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            own = {item.name for item in node.body if isinstance(item, syntax.Function)}
            bases = [methods.get(syntax.dotted(base).rpartition(".")[2], set()) for base in node.bases]
            methods[node.name] = own.union(*bases)
            if {"reset", "step"} <= methods[node.name]:
                return True
    return False


def _unfenced(text: str) -> str:
    """The program that a reply without fences is, without the prose around it; empty where it is none."""
    if not _CLASS.search(text):
        return ""
    for start in islice(_CODE_LINE.finditer(text), _MOST_STARTS):
        source = _up_to_prose(text[start.start() :])
        if _holds_environment(source):
            return _trimmed(source)
    return ""


def _up_to_prose(source: str) -> str:
    """The source up to the first line that is no Python, if that line stands at the left margin and is no fence."""
    try:
        parse_python(source)
    except SyntaxError as error:
        lines = source.split("\n")
        wrong = lines[error.lineno - 1] if error.lineno and error.lineno <= len(lines) else ""
        if wrong[:1].isalpha():
            return "\n".join(lines[: (error.lineno or 1) - 1])
    return source


def _last_python(text: str, found: Sequence[Block]) -> tuple[str, bool]:
    """The last block that calls itself Python or nothing, rather one with a class, as it is or mended."""
    named = [block for block in found if not block.info or _PYTHON.match(block.info)]
    readings = [next(_readings(text, block, mend=True)) for block in named[-_MOST_MENDED:]]
    filled = [reading for reading in readings if reading[0].strip()]
    with_class = [reading for reading in filled if _CLASS.search(reading[0])]
    return (with_class or filled or [("", False)])[-1]
