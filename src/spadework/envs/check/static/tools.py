"""Declared tool schemas against the ``tool_NAME`` methods that are to serve them.

The schemas come from literals in the source, or from a live instance (``check_schemas``): both go the same way.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from spadework.envs.check.findings import Finding
from spadework.envs.check.syntax import Function, Program, parameters, required


def check(program: Program) -> Iterator[Finding]:
    """Findings over the schemas that stand in the source as literals; nothing where they are computed."""
    if program.env is None:
        return
    schemas, computed = literal_schemas(program)
    if schemas or not computed:
        yield from check_schemas(program, schemas, complete=not computed)


def check_schemas(program: Program, schemas: Iterable[object], complete: bool = True) -> Iterator[Finding]:
    """Findings over ``schemas``; only where they are ``complete`` can a method be said to be undeclared."""
    tools = program.tools()
    line = program.env.lineno if program.env else None
    dispatched = "execute_tool" in program.methods or "_execute_tool" in program.methods
    declared: dict[str, Mapping[str, Any]] = {}
    for schema in schemas:
        function = schema.get("function", schema) if isinstance(schema, Mapping) else None
        problem = _malformed(function)
        if problem or not isinstance(function, Mapping):
            yield Finding("ENV123", problem or f"a tool schema is {type(schema).__name__}, not an object", line)
            continue
        declared[function["name"]] = function.get("parameters") or {}
    if complete and not declared and not dispatched:
        yield Finding("ENV124", "no tool is declared", line)
    for name, schema in declared.items():
        if name in tools:
            yield from _compare(name, schema, tools[name])
        elif not dispatched:
            yield Finding("ENV120", f"tool {name} is declared, but there is no method tool_{name}", line)
    for name in sorted(set(tools) - set(declared)) if complete and declared else ():
        yield Finding("ENV122", f"tool_{name} stands in no schema", tools[name].lineno)


def literal_schemas(program: Program) -> tuple[list[Any], bool]:
    """The schemas written as literals under ``_tools`` or returned by ``get_tools``, and whether some are computed."""
    schemas: list[Any] = []
    computed = False
    for cls in program.lineage:
        for node in ast.walk(cls):
            value = _tools_value(node)
            if value is None:
                continue
            if not isinstance(value, ast.List):
                computed = True
                continue
            for element in value.elts:
                try:
                    schemas.append(ast.literal_eval(element))
                except (ValueError, TypeError, SyntaxError):
                    computed = True
    method = program.methods.get("get_tools")
    returns = [node for node in ast.walk(method) if isinstance(node, ast.Return)] if method else []
    return schemas, computed or (bool(returns) and not schemas)


def _tools_value(node: ast.AST) -> ast.expr | None:
    if isinstance(node, ast.Assign):
        targets, value = node.targets, node.value
    elif isinstance(node, ast.AnnAssign | ast.AugAssign) and node.value is not None:
        targets, value = [node.target], node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        holder = node.func.value
        grows = node.func.attr in {"append", "extend"} and isinstance(holder, ast.Attribute) and holder.attr == "_tools"
        return ast.Constant(None) if grows else None
    else:
        return None
    for target in targets:
        name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
        if name == "_tools":
            return value
    return None


def _malformed(function: object) -> str | None:
    if not isinstance(function, Mapping):
        return "a tool schema is not an object"
    name = function.get("name")
    if not isinstance(name, str) or not name:
        return "a tool schema has no name"
    schema = function.get("parameters", {})
    if not isinstance(schema, Mapping):
        return f"the parameters of tool {name} are not an object"
    properties = schema.get("properties", {})
    if not isinstance(properties, Mapping) or not all(isinstance(value, Mapping) for value in properties.values()):
        return f"the properties of tool {name} are not objects"
    needed = schema.get("required", [])
    if not isinstance(needed, list | tuple):
        return f"required of tool {name} is not a list"
    unknown = sorted(str(item) for item in needed if item not in properties)
    return f"tool {name} requires {', '.join(unknown)}, which it does not declare" if unknown else None


def _compare(name: str, schema: Mapping[str, Any], method: Function) -> Iterator[Finding]:
    declared = list(schema.get("properties", {}))
    needed = set(schema.get("required", []))
    taken = parameters(method)
    if method.args.kwarg is None and (unknown := [item for item in declared if item not in taken]):
        yield Finding("ENV121", f"tool_{name} does not take {', '.join(unknown)}", method.lineno)
    if hidden := [item for item in required(method) if item not in declared]:
        yield Finding("ENV121", f"tool_{name} needs {', '.join(hidden)}, which its schema hides", method.lineno)
    elif optional := [item for item in required(method) if item not in needed]:
        yield Finding(
            "ENV121", f"tool_{name} needs {', '.join(optional)}, which its schema calls optional", method.lineno
        )
