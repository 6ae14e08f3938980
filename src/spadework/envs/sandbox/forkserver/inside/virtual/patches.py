"""How a function is replaced wherever it can be found."""

from __future__ import annotations

import ctypes
import gc
import sys
import types
from typing import Any

OURS = __name__.partition(".")[0]
"""The package that confines and supervises: its own clocks stay real."""


def replace(owner: Any, **virtual: Any) -> None:
    """Replace functions of the module ``owner`` there, and in every other module that has imported them by name.

    ``from time import monotonic`` is all over the standard library: ``threading`` and ``queue`` would hand out the
    real clock if only ``time`` was changed. A name that ``owner`` does not have is left alone.
    """
    found = {id(vars(owner)[name]): function for name, function in virtual.items() if name in vars(owner)}
    for module in list(sys.modules.values()):
        if not isinstance(module, types.ModuleType) or module.__name__.partition(".")[0] == OURS:
            continue
        for name, value in list(vars(module).items()):
            if id(value) in found:
                setattr(module, name, found[id(value)])


def patch_type(cls: type, **members: Any) -> None:
    """Replace methods of a class that is written in C.

    A subclass would not do: the real class would still be reached through the type of a constant or of a result, or
    through the class's ancestors. ``setattr`` refuses such a class, so its dictionary, which ``__dict__`` only wraps,
    is changed; the interpreter is then told to forget what it has cached of it.
    """
    (namespace,) = gc.get_referents(cls.__dict__)
    namespace.update(members)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(cls))
