"""SQLite's own clock and entropy, made virtual too: ``random()``, ``CURRENT_TIMESTAMP``, ``date('now')`` and kin."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from .patches import replace
from .source import SOURCE

CURRENT = {"current_timestamp": "%Y-%m-%d %H:%M:%S", "current_date": "%Y-%m-%d", "current_time": "%H:%M:%S"}
DATES = {"date": 0, "time": 0, "datetime": 0, "julianday": 0, "unixepoch": 0, "strftime": 1}
"""Functions of a time, and the place of the time among their arguments."""
FACTORY_AT = 5
"""The place of the class of the connection among the arguments of ``connect``."""


def install() -> None:
    """Give every connection functions of the virtual time and entropy, however it is made."""
    connect = sqlite3.connect
    functions = _functions(connect(":memory:"))

    class Connection(sqlite3.Connection):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            for name, count, function in functions:
                self.create_function(name, count, function)

    def connect_virtually(*arguments: Any, **options: Any) -> sqlite3.Connection:
        if len(arguments) <= FACTORY_AT:
            options.setdefault("factory", Connection)
        connection: sqlite3.Connection = connect(*arguments, **options)
        return connection

    Connection.__module__, Connection.__qualname__ = "sqlite3", "Connection"
    replace(sqlite3, connect=connect_virtually, Connection=Connection)


def _functions(calendar: sqlite3.Connection) -> list[tuple[str, int, Callable[..., Any]]]:
    """Name, number of arguments and body of each function; ``calendar`` is a connection that reckons with dates."""
    draw = SOURCE.bytes

    def now(form: str) -> str:
        return datetime.fromtimestamp(SOURCE.tick(), UTC).strftime(form)

    def current(form: str) -> Callable[[], str]:
        return lambda: now(form)

    def dated(name: str, place: int) -> Callable[..., Any]:
        def function(*arguments: Any) -> Any:
            given = list(arguments)
            if len(given) == place:
                given.append("now")
            if isinstance(given[place], str) and given[place].lower() == "now":
                given[place] = now("%Y-%m-%d %H:%M:%S")
            marks = ",".join("?" * len(given))
            return calendar.execute(f"select {name}({marks})", given).fetchone()[0]

        return function

    return [
        ("random", 0, lambda: int.from_bytes(draw(8), "little", signed=True)),
        ("randomblob", 1, lambda size: draw(max(1, int(size)))),
        *((name, 0, current(form)) for name, form in CURRENT.items()),
        *((name, -1, dated(name, place)) for name, place in DATES.items()),
    ]
