"""A program as its syntax tree: which class is the environment, and which methods it has from its own bases."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from spadework.envs import contract

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Program:
    """The tree of a source and what stands where in it."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree = _without_demonstration(tree)
        self.nodes = list(ast.walk(tree))
        self.classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        self.candidates = [
            node for name, node in self.classes.items() if name.endswith("Env") and name not in contract.BASE_CLASSES
        ]
        self.env = self.candidates[0] if self.candidates else None
        self.lineage = self._lineage()
        self.methods = self._methods()

    @property
    def provided_base(self) -> bool:
        """Whether the environment inherits from a class that this source does not define."""
        return bool(self.base_names - set(self.classes) - {"object", "ABC"})

    @property
    def base_names(self) -> frozenset[str]:
        """Names of all classes that the environment derives from, its own and provided ones."""
        return frozenset(name for cls in self.lineage for name in _base_names(cls))

    def tools(self) -> dict[str, Function]:
        """The ``tool_NAME`` methods by NAME."""
        return {name[5:]: method for name, method in self.methods.items() if name.startswith("tool_")}

    def _lineage(self) -> list[ast.ClassDef]:
        found: list[ast.ClassDef] = []
        pending = [self.env] if self.env else []
        while pending:
            cls = pending.pop(0)
            if cls not in found:
                found.append(cls)
                pending += [self.classes[name] for name in _base_names(cls) if name in self.classes]
        return found

    def _methods(self) -> dict[str, Function]:
        methods: dict[str, Function] = {}
        for cls in reversed(self.lineage):
            for node in cls.body:
                if isinstance(node, Function):
                    methods[node.name] = node
                elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
                    for target in node.targets:
                        if isinstance(target, ast.Name) and node.value.id in methods:
                            methods[target.id] = methods[node.value.id]
        return methods


def _base_names(cls: ast.ClassDef) -> list[str]:
    return [base.attr if isinstance(base, ast.Attribute) else ast.unparse(base) for base in cls.bases]


def parameters(function: Function) -> list[str]:
    """Names of the parameters after ``self``, without ``*args`` and ``**kwargs``."""
    arguments = function.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    static = any(isinstance(node, ast.Name) and node.id == "staticmethod" for node in function.decorator_list)
    return (names if static else names[1:]) + [argument.arg for argument in arguments.kwonlyargs]


def required(function: Function) -> list[str]:
    """Names of the parameters after ``self`` that have no default."""
    arguments = function.args
    positional = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    optional = positional[len(positional) - len(arguments.defaults) :] if arguments.defaults else []
    optional += [
        argument.arg
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is not None
    ]
    return [name for name in parameters(function) if name not in optional]


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Every node below ``node`` that is not inside a nested function or class."""
    pending = list(ast.iter_child_nodes(node))
    while pending:
        child = pending.pop()
        yield child
        if not isinstance(child, (*Function.__args__, ast.Lambda, ast.ClassDef)):
            pending += ast.iter_child_nodes(child)


def dotted(node: ast.AST) -> str:
    """``a.b.c`` of a name or an attribute of one; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _without_demonstration(tree: ast.Module) -> ast.Module:
    """The module without what stands below ``if __name__ == "__main__"``: in the sandbox it has another name.

    It stays where the program gives ``__name__`` a value of its own.
    """
    if any(_binds(node, "__name__") for node in ast.walk(tree)):
        return tree
    body = [part for node in tree.body for part in (node.orelse if _is_main(node) else [node])]
    return ast.Module(body, tree.type_ignores)


def _is_main(node: ast.stmt) -> TypeGuard[ast.If]:
    if not (isinstance(node, ast.If) and isinstance(node.test, ast.Compare)):
        return False
    sides = [node.test.left, *node.test.comparators]
    names = [side.id for side in sides if isinstance(side, ast.Name)]
    texts = [side.value for side in sides if isinstance(side, ast.Constant)]
    return names == ["__name__"] and texts == ["__main__"] and isinstance(node.test.ops[0], ast.Eq)


def _binds(node: ast.AST, name: str) -> bool:
    """Whether a node may give ``name`` a value, or says it in any other way than to read it."""
    if isinstance(node, ast.Name):
        return node.id == name and not isinstance(node.ctx, ast.Load)
    said = [getattr(node, key, None) for key in ("name", "asname", "arg", "attr", "rest")]
    return name in said or name in getattr(node, "names", ())
