"""Finds what a config names and a user may bring along: a built-in, an installed plug-in, or a file of the user's own.

Three forms of a name are understood:

* ``games``: a built-in of this package, or an entry point that an installed distribution declares;
* ``my_module:NAME``: ``NAME`` of a module that can be imported, the current folder included;
* ``path/to/file.py:NAME``: ``NAME`` of one file.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from spadework.errors import ConfigError


@cache
def _entry_points(group: str, path: tuple[str, ...]) -> tuple[importlib.metadata.EntryPoint, ...]:
    """What is declared by the distributions on ``path``: to ask opens a file of each, and every check asks."""
    return tuple(importlib.metadata.entry_points(group=group))


class Plugins:
    """The plug-ins of one kind.

    Args:
        kind: what a plug-in is, in a word: it begins every error message.
        group: the entry-point group in which installed distributions declare theirs.
        built_in: name -> ``module:NAME`` of those that this package brings along.
    """

    def __init__(self, kind: str, group: str, built_in: Mapping[str, str]) -> None:
        self.kind, self.group, self.built_in = kind, group, dict(built_in)

    def names(self) -> tuple[str, ...]:
        """The names that need no module: the built-ins in their order, then those of entry points, sorted."""
        installed = {point.name for point in _entry_points(self.group, tuple(sys.path))}
        return (*self.built_in, *sorted(installed - set(self.built_in)))

    def find(self, name: str) -> Any:
        """The object that ``name`` stands for. Raises ``ConfigError``, which names the nearest known name."""
        if name in self.built_in:
            return self._load(name, self.built_in[name])
        if ":" in name:
            return self._load(name, name)
        for point in _entry_points(self.group, tuple(sys.path)):
            if point.name == name:
                return self._load(name, point.value)
        names = self.names()
        close = difflib.get_close_matches(name, names, n=1)
        hint = f"the nearest is {close[0]!r}" if close else f"there are {', '.join(names)}"
        raise ConfigError(f"there is no {self.kind} {name!r}; {hint}, and module:NAME takes one from a module")

    def _load(self, name: str, reference: str) -> Any:
        """``reference`` is ``module:NAME`` or ``file.py:NAME``."""
        where, _, attribute = reference.rpartition(":")
        if not where or not attribute:
            raise ConfigError(f"{self.kind} {name!r}: write it as module:NAME or path/to/file.py:NAME")
        try:
            module = _file(Path(where)) if where.endswith(".py") else _module(where)
        except Exception as error:
            raise ConfigError(f"{self.kind} {name!r}: {where} cannot be imported: {error}") from error
        try:
            return getattr(module, attribute)
        except AttributeError:
            raise ConfigError(f"{self.kind} {name!r}: {where} defines no {attribute}") from None


def _module(name: str) -> ModuleType:
    with _current_folder():
        return importlib.import_module(name)


def _file(path: Path) -> ModuleType:
    """The module of a file, loaded once however often it is named."""
    path = path.expanduser().resolve()
    name = f"spadework_plugin:{path}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ImportError(f"there is no file {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # before it runs: dataclasses look their own module up
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


@contextmanager
def _current_folder() -> Iterator[None]:
    """An installed command does not search the current folder, where a user's own module most likely lies."""
    folder = str(Path.cwd())
    sys.path.append(folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
