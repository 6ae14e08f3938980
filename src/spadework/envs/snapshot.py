"""What an object held at one moment, to be put back in place after a tool has failed half way.

Containers are refilled rather than replaced: a criterion that holds on to one of them goes on seeing the state.

The sandbox loads this file by its path: it imports the standard library only.
"""

from __future__ import annotations

import random
import sqlite3
from collections import deque
from collections.abc import Callable, Iterable
from types import FunctionType, MethodType, ModuleType
from typing import Any

_ATOMS = frozenset({str, int, float, bool, bytes, type(None), FunctionType, MethodType})
"""Types of what holds nothing that is put back."""


class Snapshot:
    """The contents of every mutable object that is reached from ``root``'s attributes.

    Lists, dictionaries, sets, deques, byte arrays, attributes of objects, ``random.Random`` and SQLite databases are
    put back. The module ``random``'s own generator, class attributes, variables of closures, slots, iterators and
    arrays are not.
    """

    def __init__(self, root: object, skip: Iterable[object] = ()) -> None:
        """``skip`` names objects that are left as they are, with all that only they reach."""
        self._kept: list[tuple[Callable[[Any, Any], object], Any, Any]] = []
        """How each object is put back, the object, and what it held."""
        self._alive: list[Any] = []
        """Objects already seen, which must live as long as their ids are compared."""
        seen = {id(one) for one in skip}
        pending: list[Any] = [root]
        while pending:
            one = pending.pop()
            if id(one) in seen:
                continue
            seen.add(id(one))
            self._alive.append(one)
            # A state is dictionaries and lists of text and numbers. This runs before every call of a tool, so a look at
            # the exact type is what most of it gets.
            kind = type(one)
            if kind is dict:
                self._kept.append((_refill_mapping, one, list(one.items())))
                pending += [key for key in one if type(key) not in _ATOMS]
                inside: Iterable[Any] = one.values()
            elif kind is list:
                self._kept.append((_refill_sequence, one, one[:]))
                inside = one
            else:
                inside = self._remember(one)
            pending += [part for part in inside if type(part) not in _ATOMS]

    def restore(self) -> None:
        """Put everything back as it was."""
        for put_back, one, held in self._kept:
            put_back(one, held)

    def _remember(self, one: Any) -> Iterable[Any]:
        """Keep the contents of an object of any kind, and give what must be looked at next."""
        if isinstance(one, str | bytes | int | float | type | ModuleType):
            return ()
        if isinstance(one, sqlite3.Connection):
            self._kept.append((_restore_database, one, one.serialize()))
            return ()
        if isinstance(one, random.Random):
            self._kept.append((random.Random.setstate, one, one.getstate()))
        inside: list[Any] = []
        if isinstance(one, dict):
            self._kept.append((_refill_mapping, one, list(one.items())))
            inside += [part for item in one.items() for part in item]
        elif isinstance(one, list | bytearray):
            self._kept.append((_refill_sequence, one, one[:]))
            inside += one
        elif isinstance(one, set | deque):
            self._kept.append((_refill_collection, one, list(one)))
            inside += one
        elif isinstance(one, tuple | frozenset):
            inside += one
        attributes = getattr(one, "__dict__", None)
        if isinstance(attributes, dict) and not callable(one):
            inside.append(attributes)
        return inside


def _refill_mapping(one: dict[Any, Any], items: list[tuple[Any, Any]]) -> None:
    one.clear()
    for key, value in items:  # update() of a Counter would add
        one[key] = value


def _refill_sequence(one: Any, items: Any) -> None:
    one[:] = items


def _refill_collection(one: set[Any] | deque[Any], items: list[Any]) -> None:
    one.clear()
    add = one.update if isinstance(one, set) else one.extend
    add(items)


def _restore_database(connection: sqlite3.Connection, pages: bytes) -> None:
    """Put a database back, tables and all, whether the tool has committed or not."""
    connection.rollback()
    connection.deserialize(pages)
