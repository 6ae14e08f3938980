"""Ways around the list of imports: private parts of modules, modules inside modules, and the interpreter's own objects.

``random._os``, ``statistics.sys.modules`` and ``len.__self__`` each lead to modules that a program may not import. The
rules look at what an expression names: attributes of a module are held to a strict rule, and attributes of anything
else only to a list of names that lead into the interpreter. What a program defines itself (``self._state``) is its own.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from spadework.envs.check.findings import Finding
from spadework.envs.check.syntax import Program, dotted
from spadework.envs.contract import ALLOWED_IMPORTS, PRELUDE_MODULES

_FRAMES = frozenset(
    "gi_frame gi_code gi_yieldfrom cr_frame cr_code cr_await ag_frame ag_code ag_await tb_frame tb_next f_back f_code "
    "f_globals f_locals f_builtins co_consts func_globals".split()
)
"""Attributes of frames, code and tracebacks: a program may use these names for attributes that it defines itself."""
_DUNDERS = frozenset(
    "__subclasses__ __globals__ __builtins__ __code__ __closure__ __mro__ __base__ __bases__ __getattribute__ "
    "__loader__ __spec__ __func__ __self__ __import__ __reduce__ __reduce_ex__ __wrapped__ _getframe "
    "_current_frames".split()
)
_TO_ATTRIBUTES_ONLY = frozenset({"mro", "get_objects", "get_referrers", "get_referents", "currentframe"})
"""Words that may stand anywhere but as an attribute that the program does not define."""
_REFLECTION = frozenset("getattr setattr delattr hasattr vars dir".split())
_HARMLESS = frozenset({"__name__", "__doc__", "__version__", "__all__"})
_FUNCTIONS = frozenset({"numpy.select", "numpy.trace"})
"""Functions that are called like modules of the standard library."""
_PARTS = frozenset({"collections.abc", *(f"numpy.{part}" for part in ("random", "linalg", "fft", "polynomial", "ma"))})
"""Modules inside packages that programs may use."""
_HIDDEN_MODULES = frozenset(f"_{name.lstrip('_')}" for name in sys.stdlib_module_names) - {"_abc", "_ast", "_random"}
"""How a module calls another that it keeps to itself. ``_random`` is what many games call their generator."""


def check(program: Program) -> Iterator[Finding]:
    """Findings ENV108 and ENV111."""
    modules = aliases(program)
    own = _own_names(program)
    for node in program.nodes:
        if isinstance(node, ast.Attribute):
            yield from _attribute(node, modules, own)
        elif isinstance(node, ast.Call):
            yield from _reflection(node, modules)
        elif isinstance(node, ast.ImportFrom):
            yield from _imported_names(node)
        elif isinstance(node, ast.Name | ast.Constant):
            name = node.id if isinstance(node, ast.Name) else node.value
            if isinstance(name, str) and (name in _DUNDERS or (name in _FRAMES and name not in own)):
                yield Finding("ENV108", f"{name} is reached for", node.lineno)


def aliases(program: Program) -> dict[str, str]:
    """What names stand for: modules of the prelude, what imports bind, and plain assignments of these.

    A name of the prelude that the program gives to something else (``def spell(string)``) stands for that.
    """
    prelude = {name: name for name in PRELUDE_MODULES} | {"np": "numpy"}
    names: dict[str, str] = {}
    for node in program.nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                root = alias.name.partition(".")[0]
                names[alias.asname or root] = alias.name if alias.asname else root
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    provided = prelude | names
    for node in program.nodes:
        if isinstance(node, ast.Assign) and (name := resolve(node.value, provided)):
            names |= {target.id: name for target in node.targets if isinstance(target, ast.Name)}
    own = _own_names(program)
    return {name: module for name, module in prelude.items() if name not in own} | names


def resolve(node: ast.AST, names: dict[str, str]) -> str:
    """The full dotted name of an expression that starts at an import; empty for any other."""
    head, dot, rest = dotted(node).partition(".")
    return f"{names[head]}{dot}{rest}" if head in names else ""


def _own_names(program: Program) -> set[str]:
    """Names of methods, functions, variables and attributes that the program defines somewhere."""
    names: set[str] = set()
    for node in program.nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
    return names


def _attribute(node: ast.Attribute, modules: dict[str, str], own: set[str]) -> Iterator[Finding]:
    owner = resolve(node.value, modules)
    if node.attr in _DUNDERS or (node.attr in _FRAMES | _TO_ATTRIBUTES_ONLY and node.attr not in own):
        yield Finding("ENV108", f"{node.attr} is reached for", node.lineno)
    elif _is_module(owner) and _is_private(owner, node.attr):
        yield Finding("ENV111", f"{owner}.{node.attr} is not a public name of {owner}", node.lineno)
    elif node.attr in _HIDDEN_MODULES and node.attr not in own and dotted(node.value) not in ("self", "cls"):
        yield Finding("ENV111", f"{node.attr} is how a module calls another that it keeps to itself", node.lineno)


def _imported_names(node: ast.ImportFrom) -> Iterator[Finding]:
    module = node.module or ""
    for alias in node.names:
        if _is_module(module) and not node.level and _is_private(module, alias.name):
            yield Finding("ENV111", f"{alias.name} is not a public name of {module}", node.lineno)


def _reflection(node: ast.Call, modules: dict[str, str]) -> Iterator[Finding]:
    """``getattr(module, …)`` and its like; of a constant that is a public name nothing is said."""
    name = dotted(node.func)
    if name not in _REFLECTION or not node.args:
        return
    owner = resolve(node.args[0], modules)
    if not _is_module(owner):
        return
    key = node.args[1] if len(node.args) > 1 else None
    known = isinstance(key, ast.Constant) and isinstance(key.value, str) and not _is_private(owner, key.value)
    if not known:
        yield Finding("ENV111", f"{name}() is called on the module {owner}", node.lineno)


def _is_module(name: str) -> bool:
    """Whether a resolved name is that of a module that programs may import."""
    return name in ALLOWED_IMPORTS or name in _PARTS


def _is_private(owner: str, name: str) -> bool:
    if name.startswith("_"):
        return name not in _HARMLESS
    hidden = name in sys.stdlib_module_names and name not in ALLOWED_IMPORTS
    return hidden and f"{owner}.{name}" not in _FUNCTIONS
