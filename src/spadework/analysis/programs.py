"""What a program's text shows of it (Table 7 of the paper): its length, its hidden variables, its reward levels."""

from __future__ import annotations

import ast
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from spadework.envs.check.syntax import Program
from spadework.text import parse_python


@dataclass(frozen=True, slots=True)
class ProgramMeasures:
    """Counts of one program."""

    lines: int
    """Lines that are neither empty nor a comment."""
    hidden_variables: int
    """Attributes that the methods set on ``self``: the state, of which the player sees what is printed."""
    reward_levels: int
    """Different expressions that ``step`` and its helpers return as a reward, as written: a formula counts as one,
    however many values it takes. ``analysis.tables`` counts the values that were paid in a run."""


def measure_program(source: str) -> ProgramMeasures | None:
    """The counts, or ``None`` for a text that holds no environment class."""
    try:
        program = Program(parse_python(source))
    except SyntaxError:
        return None
    if program.env is None:
        return None
    nodes = [node for cls in program.lineage for node in ast.walk(cls)]
    hidden = {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    rewards = {reward for function in functions for reward in _rewards(function)}
    lines = [line.strip() for line in source.splitlines()]
    return ProgramMeasures(sum(bool(line) and not line.startswith("#") for line in lines), len(hidden), len(rewards))


def means(measured: Iterable[ProgramMeasures]) -> dict[str, float]:
    """The mean of each count, by what it is called; nothing for no programs."""
    rows = list(measured)
    if not rows:
        return {}
    return {
        "lines of code": statistics.fmean(row.lines for row in rows),
        "hidden variables": statistics.fmean(row.hidden_variables for row in rows),
        "reward levels, as written": statistics.fmean(row.reward_levels for row in rows),
    }


def _rewards(function: ast.FunctionDef) -> set[str]:
    """The reward of each tuple (observation, reward, terminated, truncated, info) that a function returns."""
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) and len(node.value.elts) == 5:
            found |= _levels(node.value.elts[1], function)
    return found


def _levels(reward: ast.expr, function: ast.FunctionDef) -> set[str]:
    """Expressions that a reward may be: both branches of a condition, and all that a local name is given."""
    if isinstance(reward, ast.IfExp):
        return _levels(reward.body, function) | _levels(reward.orelse, function)
    if isinstance(reward, ast.Name):
        given = [node.value for node in ast.walk(function) if isinstance(node, ast.Assign) and _sets(node, reward.id)]
        plain = [value for value in given if not any(_is_name(part, reward.id) for part in ast.walk(value))]
        if plain:
            return {level for value in plain for level in _levels(value, function)}
    if isinstance(reward, ast.Constant) and isinstance(reward.value, int | float):
        return {repr(float(reward.value))}
    return {ast.unparse(reward)}


def _sets(node: ast.Assign, name: str) -> bool:
    return any(_is_name(target, name) for target in node.targets)


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
