"""What a child has loaded before it is confined: it can open no file afterwards, so this *is* the import contract."""

from __future__ import annotations

import importlib
import linecache
import os
import sys
import types
from typing import Any

from . import virtual

INTERNAL = (
    *("_strptime", "argparse", "ast", "binascii", "codecs", "collections.abc", "encodings.ascii", "encodings.idna"),
    *("encodings.latin_1", "inspect", "locale", "platform", "queue", "stringprep", "threading", "traceback", "types"),
    *("typing", "warnings", "weakref", "threading", "logging", "pathlib", "os.path"),
)
"""Loaded besides the published list: what that imports lazily, and what honest programs take for granted."""
NUMPY = (
    "numpy",
    "numpy.random",
    "numpy.linalg",
    "numpy.fft",
    "numpy.polynomial",
    "numpy.ma",
    "numpy.lib.stride_tricks",
)
TOOL_MODULES = ("tool_use_base_env", "spadework_tool_env")
"""Under which names programs import the base classes of tool-use environments."""


def warm(config: dict[str, Any]) -> dict[str, Any]:
    """Load the contract's modules and return the names that a program may use without importing them.

    Args:
        config: ``imports``, ``prelude_modules``, ``prelude_names`` (the contract's), ``site`` (folders for numpy and
            math_verify), ``tool_env`` (path of the base classes' source), ``numpy`` and ``math_verify`` (load them?).
    """
    sys.path.extend(config["site"])
    heavy = {"numpy": config["numpy"], "math_verify": config["math_verify"]}
    skipped = {*TOOL_MODULES, *(name for name, wanted in heavy.items() if not wanted)}
    wanted = [name for name in (*INTERNAL, *config["imports"]) if name not in skipped]
    for name in sorted({*wanted, *(NUMPY if heavy["numpy"] else ())}):
        importlib.import_module(name)
    prelude = _prelude(config, skipped)
    _exercise(heavy)
    prelude.update(_tool_classes(config["tool_env"]))
    linecache.clearcache()
    sys.path.clear()
    sys.path_importer_cache.clear()
    virtual.install()
    virtual.reseed(0)
    return prelude


def _prelude(config: dict[str, Any], skipped: set[str]) -> dict[str, Any]:
    names = {name: sys.modules[name] for name in config["prelude_modules"] if name not in skipped}
    if "numpy" in names:
        names["np"] = names["numpy"]
    taken: dict[str, Any] = {}
    for module, members in config["prelude_names"].items():
        taken |= {member: getattr(sys.modules[module], member) for member in members}
    return {**names, **taken}


def _exercise(heavy: dict[str, bool]) -> None:
    """Run once what initialises itself on first use, and what would open files then."""
    "x".encode("idna")
    if heavy["numpy"]:
        numpy = sys.modules["numpy"]
        numpy.random.default_rng(0).integers(0, 9, 3)
        str(numpy.linalg.inv(numpy.eye(3)))
    if heavy["math_verify"]:
        math_verify = sys.modules["math_verify"]
        math_verify.verify(math_verify.parse("$\\frac{1}{2}$"), math_verify.parse("\\boxed{0.5}"))


def _tool_classes(path: str) -> dict[str, Any]:
    """The base classes of tool-use environments, from their source; none while the file is not there."""
    if not os.path.exists(path):
        return {}
    module = types.ModuleType("spadework_tool_env")
    for name in TOOL_MODULES:
        sys.modules[name] = module
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), "spadework_tool_env.py", "exec", dont_inherit=True), module.__dict__)
    return {name: value for name, value in vars(module).items() if isinstance(value, type) and name.endswith("Env")}
