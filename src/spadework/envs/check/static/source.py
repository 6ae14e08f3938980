"""What can be said of a program without running it: parse, interface, and the rules of ``static.rules``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from spadework.envs.check.findings import Finding
from spadework.envs.check.static import rules
from spadework.envs.check.syntax import Function, Program, own_nodes, parameters, required
from spadework.envs.domain import Domain
from spadework.text import parse_python

MAX_CHARACTERS = 200_000
"""A longer source is not a game: it is refused before it is parsed."""
MAX_NODES = 100_000
"""The rules look at every node several times; a program of this many takes them about a second."""

_FENCE = re.compile(r"^\s*(```|~~~)", re.MULTILINE)


def check_source(source: str, domain: Domain) -> list[Finding]:
    """Every static finding of ``source`` as a program of ``domain``, by line. Runs nothing and raises nothing."""
    if len(source) > MAX_CHARACTERS:
        return [Finding("ENV001", f"the source has {len(source)} characters, more than {MAX_CHARACTERS}")]
    try:
        program = Program(parse_python(source))
    except SyntaxError as error:
        return _parse_findings(source, error)
    if len(program.nodes) > MAX_NODES:
        return [Finding("ENV001", f"the source has {len(program.nodes)} nodes, more than {MAX_NODES}")]
    try:
        findings = [*_interface(program), *rules.check(program), *domain.checks.static(program)]
    except RecursionError:
        return [Finding("ENV001", "an expression is nested too deeply")]
    return sorted(set(findings), key=lambda finding: (finding.line or 0, finding.code, finding.message))


def _parse_findings(source: str, error: SyntaxError) -> list[Finding]:
    found = [Finding("ENV001", f"{error.msg or error}", error.lineno)]
    fence = _FENCE.search(source)
    if fence:
        line = source.count("\n", 0, fence.start(1)) + 1
        found.append(Finding("ENV006", "a Markdown fence stands in the source", line))
    return found


def _interface(program: Program) -> Iterator[Finding]:
    if program.env is None:
        yield Finding("ENV002", "no class at module level has a name that ends in Env")
        return
    names = [cls.name for cls in program.candidates]
    ancestors = {cls.name for cls in program.lineage}
    if others := [name for name in names[1:] if name not in ancestors]:
        yield Finding("ENV007", f"{names[0]} is played, {', '.join(others)} is not", program.env.lineno)
    yield from _methods(program, program.env)
    yield from _constructor(program)


def _methods(program: Program, env: ast.ClassDef) -> Iterator[Finding]:
    for name in ("reset", "step"):
        method = program.methods.get(name)
        if method is None:
            if not program.provided_base:
                yield Finding("ENV009", f"{env.name} has no method {name}", env.lineno)
        elif isinstance(method, ast.AsyncFunctionDef):
            yield Finding("ENV004", f"{name} is async; it is called plainly", method.lineno)
        elif problem := _signature_problem(name, method):
            yield Finding("ENV004", problem, method.lineno)
    if step := program.methods.get("step"):
        for node in own_nodes(step):
            parts = node.value.elts if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) else []
            if len(parts) not in (0, 4, 5) and not any(isinstance(part, ast.Starred) for part in parts):
                yield Finding("ENV008", f"step returns {len(parts)} values", parts[0].lineno)


def _signature_problem(name: str, method: Function) -> str | None:
    needed = required(method)
    if name == "reset":
        return f"reset asks for {', '.join(needed)}; it is given one seed" if len(needed) > 1 else None
    if not parameters(method) and method.args.vararg is None:
        return "step takes no action"
    return f"step asks for {', '.join(needed)}; it is given one action" if len(needed) > 1 else None


def _constructor(program: Program) -> Iterator[Finding]:
    method = program.methods.get("__init__")
    if method is None:
        return
    if extra := [name for name in required(method) if name != "max_turns"]:
        yield Finding("ENV005", f"the constructor asks for {', '.join(extra)}", method.lineno)
