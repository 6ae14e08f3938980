"""Difficulty by choice: which levels a source has, and the same source at another one.

A program takes ``difficulty`` as a keyword of its constructor and gets what a last line ``DIFFICULTY = 3`` says, else
its own default: so the text alone says what was played. An environment of a package has the level in its name.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from dataclasses import dataclass

from spadework.envs.contract import BASE_CLASSES, LEVEL
from spadework.envs.sandbox.packaged.names import entries, parse_named
from spadework.text import parse_python

_LINE = re.compile(rf"\n+{LEVEL} = \d+\n?\Z")


@dataclass(frozen=True, slots=True)
class Levels:
    """What a source can be played at."""

    start: int
    """Where it begins: a program's default, 0 in a package."""
    top: int | None
    """The highest level; ``None`` where there is no end."""


def levels(source: str) -> Levels | None:
    """The levels of a source; ``None`` for one without. Raises ``ConfigError`` where its package is missing."""
    named = parse_named(source)
    if named is None:
        return _of_program(source)
    top = next(entry.top for entry in entries(named.package) if entry.name == named.name)
    return None if top == -1 else Levels(named.difficulty or 0, top)


def at_level(source: str, level: int) -> str:
    """The source at ``level``."""
    named = parse_named(source)
    if named is not None:
        return str(dataclasses.replace(named, difficulty=level))
    return f"{_LINE.sub('', source).rstrip()}\n\n{LEVEL} = {level}\n"


def _of_program(source: str) -> Levels | None:
    try:
        body = parse_python(source).body
    except SyntaxError:
        return None
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name.endswith("Env") and node.name not in BASE_CLASSES:
            start = _default(node)
            return None if start is None else Levels(_number(body, LEVEL, start), _top(node))
    return None


def _default(cls: ast.ClassDef) -> int | None:
    """The default of the constructor's ``difficulty``; 0 when it has none, ``None`` without such a parameter."""
    for node in cls.body:
        if not (isinstance(node, ast.FunctionDef) and node.name == "__init__"):
            continue
        plain = [*node.args.posonlyargs, *node.args.args]
        defaults = dict(zip(reversed([one.arg for one in plain]), reversed(node.args.defaults), strict=False))
        defaults |= {
            one.arg: value for one, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if value
        }
        if "difficulty" in {one.arg for one in [*node.args.args, *node.args.kwonlyargs]}:
            given = defaults.get("difficulty")
            return given.value if isinstance(given, ast.Constant) and isinstance(given.value, int) else 0
    return None


def _top(cls: ast.ClassDef) -> int | None:
    top = _number(cls.body, "max_difficulty", -1)
    return None if top < 0 else top


def _number(body: list[ast.stmt], name: str, otherwise: int) -> int:
    for node in reversed(body):
        if isinstance(node, ast.Assign) and any(isinstance(one, ast.Name) and one.id == name for one in node.targets):
            value = node.value
            return value.value if isinstance(value, ast.Constant) and isinstance(value.value, int) else otherwise
    return otherwise
