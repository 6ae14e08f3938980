"""What an object held at one moment, to be put back in place after a tool has failed half way.

Containers are refilled rather than replaced: a criterion that holds on to one of them goes on seeing the state.

The sandbox loads this file by its path: it imports the standard library only.
"""

from __future__ import annotations

import random
import sqlite3
from collections import deque
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

_ATOMS = frozenset({str, int, float, bool, bytes, type(None)})


class Snapshot:
    """The contents of every mutable object that is reached from ``root``'s attributes.

    Lists, dictionaries, sets, deques, byte arrays, attributes of objects, ``random.Random`` and SQLite databases are
    put back. The module ``random``'s own generator, class attributes, variables of closures, slots, iterators and
    arrays are not.
    """

    def __init__(self, root: object, skip: Iterable[object] = ()) -> None:
        """``skip`` names objects that are left as they are, with all that only they reach."""
        self._restorers: list[Callable[[], None]] = []
        self._kept: list[Any] = []
        """Objects already seen, which must live as long as their ids are compared."""
        seen = {id(one) for one in skip}
        pending: list[Any] = [root]
        while pending:
            one = pending.pop()
            if id(one) in seen or isinstance(one, str | bytes | int | float | type | ModuleType):
                continue
            seen.add(id(one))
            self._kept.append(one)
            # Most of a state is text and numbers: a look at their exact type is the cheapest way past them.
            pending += [part for part in self._remember(one) if type(part) not in _ATOMS]

    def restore(self) -> None:
        """Put everything back as it was."""
        for restorer in self._restorers:
            restorer()

    def _remember(self, one: Any) -> Iterable[Any]:
        """Keep the contents of one object, and give what must be looked at next."""
        if isinstance(one, sqlite3.Connection):
            self._restorers.append(_database(one))
            return ()
        if isinstance(one, random.Random):
            state = one.getstate()
            self._restorers.append(lambda: one.setstate(state))
        inside: list[Any] = []
        if isinstance(one, dict):
            inside += self._mapping(one)
        elif isinstance(one, list | bytearray):
            inside += self._sequence(one)
        elif isinstance(one, set | deque):
            inside += self._collection(one)
        elif isinstance(one, tuple | frozenset):
            inside += one
        attributes = getattr(one, "__dict__", None)
        if isinstance(attributes, dict) and not callable(one):
            inside.append(attributes)
        return inside

    def _mapping(self, one: dict[Any, Any]) -> list[Any]:
        items = list(one.items())

        def restore() -> None:
            one.clear()
            for key, value in items:  # update() of a Counter would add
                one[key] = value

        self._restorers.append(restore)
        return [part for item in items for part in item]

    def _sequence(self, one: Any) -> list[Any]:
        items = one[:]

        def restore() -> None:
            one[:] = items

        self._restorers.append(restore)
        return list(items)

    def _collection(self, one: Any) -> list[Any]:
        items = list(one)
        add = one.update if isinstance(one, set) else one.extend

        def restore() -> None:
            one.clear()
            add(items)

        self._restorers.append(restore)
        return items


def _database(connection: sqlite3.Connection) -> Callable[[], None]:
    """How to put a database back, tables and all, whether the tool has committed or not."""
    pages = connection.serialize()

    def restore() -> None:
        connection.rollback()
        connection.deserialize(pages)

    return restore
