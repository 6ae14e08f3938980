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
    *("ast", "binascii", "codecs", "collections.abc", "encodings.ascii", "encodings.latin_1", "inspect", "os.path"),
    *("traceback", "types", "typing", "warnings", "weakref"),
)
"""Loaded besides the published list: what that imports lazily, and what honest programs take for granted."""
UNCOMMON = (
    *("_strptime", "argparse", "encodings.idna", "locale", "logging", "pathlib", "platform", "queue", "stringprep"),
    "threading",
)
"""The same, of the modules that few programs import."""
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
        config: ``imports``, ``prelude_modules``, ``prelude_names`` (the contract's, as far as they are wanted);
            ``site`` (folders for numpy and math_verify); ``tool_env`` (path of the base classes' source);
            ``tool_needs`` (what they import of ours, name -> path, in the order in which it is loaded); and
            ``uncommon``, ``numpy`` and ``math_verify`` (load what is theirs?).
    """
    sys.path.extend(config["site"])
    wanted = [name for name in (*INTERNAL, *config["imports"]) if name not in TOOL_MODULES]
    for name in sorted({*wanted, *(UNCOMMON if config["uncommon"] else ()), *(NUMPY if config["numpy"] else ())}):
        importlib.import_module(name)
    prelude = _prelude(config)
    _exercise(config)
    if config["uncommon"]:
        prelude.update(_tool_classes(config))
    linecache.clearcache()
    sys.path.clear()
    sys.path_importer_cache.clear()
    virtual.install()
    virtual.reseed(0)
    return prelude


def _prelude(config: dict[str, Any]) -> dict[str, Any]:
    names = {name: sys.modules[name] for name in config["prelude_modules"]}
    if "numpy" in names:
        names["np"] = names["numpy"]
    taken: dict[str, Any] = {}
    for module, members in config["prelude_names"].items():
        taken |= {member: getattr(sys.modules[module], member) for member in members}
    return {**names, **taken}


def _exercise(config: dict[str, Any]) -> None:
    """Run once what initialises itself on first use, and what would open files then."""
    if config["uncommon"]:
        "x".encode("idna")
    if config["numpy"]:
        numpy = sys.modules["numpy"]
        numpy.random.default_rng(0).integers(0, 9, 3)
        str(numpy.linalg.inv(numpy.eye(3)))
    if config["math_verify"]:
        math_verify = sys.modules["math_verify"]
        math_verify.verify(math_verify.parse("$\\frac{1}{2}$"), math_verify.parse("\\boxed{0.5}"))


def _tool_classes(config: dict[str, Any]) -> dict[str, Any]:
    """The base classes of tool-use environments, from their source; none while the file is not there."""
    if not os.path.exists(config["tool_env"]):
        return {}
    for name, path in config["tool_needs"].items():
        _load(path, name)
    module = _load(config["tool_env"], *TOOL_MODULES)
    return {name: value for name, value in vars(module).items() if isinstance(value, type) and name.endswith("Env")}


def _load(path: str, *names: str) -> types.ModuleType:
    """The module of a source file, known under each of ``names``; the last one is its own."""
    module = types.ModuleType(names[-1])
    for name in names:
        sys.modules[name] = module
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), f"{names[-1]}.py", "exec", dont_inherit=True), module.__dict__)
    return module
