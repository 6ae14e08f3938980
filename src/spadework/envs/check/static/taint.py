"""Follows the player's text from ``step`` through assignments, attributes and calls of the program's own functions."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Iterator

from spadework.envs.check.syntax import Function, Program, dotted, parameters

_CLEAN_CALLS = frozenset({"int", "float", "bool", "len"})
"""What these give is a number, whoever wrote their argument."""


def player_text_calls(program: Program, sinks: Collection[str]) -> Iterator[ast.Call]:
    """Calls of a function named in ``sinks`` with an argument that the player's action flows into."""
    flow = _follow(program)
    for name, call in flow.calls():
        if dotted(call.func) in sinks and any(flow.tainted(argument, name) for argument in call.args):
            yield call


def player_format_calls(program: Program) -> Iterator[ast.Call]:
    """Calls of ``format`` or ``format_map`` of a string that the player's action flows into, with something to show.

    A format reaches attributes: ``{env.answer}`` in the player's text prints the answer.
    """
    flow = _follow(program)
    for name, call in flow.calls():
        formats = isinstance(call.func, ast.Attribute) and call.func.attr in ("format", "format_map")
        if formats and (call.args or call.keywords) and flow.tainted(call.func.value, name):  # type: ignore[attr-defined]
            yield call


def _follow(program: Program) -> _Flow:
    step = program.methods.get("step")
    names = parameters(step)[:1] if step else []
    functions = {node.name: node for node in program.tree.body if isinstance(node, Function)} | program.methods
    starts = {"step": set(names)} if names else {}
    for tool, method in program.tools().items():
        starts[f"tool_{tool}"] = set(parameters(method))
    flow = _Flow(functions)
    flow.run(starts)
    return flow


class _Flow:
    """Tainted local names per function, and tainted attributes of ``self``; grown to a fixpoint."""

    def __init__(self, functions: dict[str, Function]) -> None:
        self.functions = functions
        self.nodes = {name: list(ast.walk(function)) for name, function in functions.items()}
        self.locals: dict[str, set[str]] = defaultdict(set)
        self.attributes: set[str] = set()

    def run(self, starts: dict[str, set[str]]) -> None:
        for name, names in starts.items():
            self.locals[name] |= names
        size = -1
        while size != (size := sum(map(len, self.locals.values())) + len(self.attributes)):
            for name, nodes in self.nodes.items():
                if self.locals[name] or self.attributes:
                    for node in nodes:
                        self._visit(node, name)

    def calls(self) -> Iterator[tuple[str, ast.Call]]:
        """Every call, with the name of the function that it stands in."""
        for name, nodes in self.nodes.items():
            for node in nodes:
                if isinstance(node, ast.Call):
                    yield name, node

    def tainted(self, node: ast.AST, function: str) -> bool:
        """Whether the player's text flows into the value of this expression."""
        if isinstance(node, ast.Name):
            return node.id in self.locals[function]
        if isinstance(node, ast.Attribute) and dotted(node.value) == "self":
            return node.attr in self.attributes
        if isinstance(node, ast.Compare) or (isinstance(node, ast.Call) and dotted(node.func) in _CLEAN_CALLS):
            return False
        return any(self.tainted(child, function) for child in ast.iter_child_nodes(node))

    def _visit(self, node: ast.AST, function: str) -> None:
        if isinstance(node, ast.Call):
            self._call(node, function)
            return
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            targets, value = [node.target], node.value
        elif isinstance(node, ast.For | ast.comprehension):
            targets, value = [node.target], node.iter
        else:
            return
        if self.tainted(value, function):
            for target in targets:
                self._mark(target, function)

    def _mark(self, target: ast.AST, function: str) -> None:
        for node in ast.walk(target):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self.locals[function].add(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                self.attributes.add(node.attr)

    def _call(self, node: ast.Call, function: str) -> None:
        callee = dotted(node.func).removeprefix("self.")
        if callee not in self.functions or callee == function:
            return
        target = self.functions[callee]
        names = parameters(target) if dotted(node.func).startswith("self.") else _all_parameters(target)
        for name, argument in zip(names, node.args, strict=False):
            if self.tainted(argument, function):
                self.locals[callee].add(name)
        for keyword in node.keywords:
            if keyword.arg and self.tainted(keyword.value, function):
                self.locals[callee].add(keyword.arg)


def _all_parameters(function: Function) -> list[str]:
    return [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
