"""SQLite's own clock and entropy, made virtual too: ``random()``, ``CURRENT_TIMESTAMP``, ``date('now')`` and kin."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

CURRENT = {"current_timestamp": "%Y-%m-%d %H:%M:%S", "current_date": "%Y-%m-%d", "current_time": "%H:%M:%S"}
DATES = {"date": 0, "time": 0, "datetime": 0, "julianday": 0, "unixepoch": 0, "strftime": 1}
"""Functions of a time, and the place of the time among their arguments."""


def install(tick: Callable[[], float], draw: Callable[[int], bytes]) -> None:
    """Give every connection that ``sqlite3.connect`` makes functions of ``tick`` and ``draw``."""
    connect = sqlite3.connect
    calendar = connect(":memory:")

    def now(form: str) -> str:
        return datetime.fromtimestamp(tick(), UTC).strftime(form)

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

    functions: list[tuple[str, int, Callable[..., Any]]] = [
        ("random", 0, lambda: int.from_bytes(draw(8), "little", signed=True)),
        ("randomblob", 1, lambda size: draw(max(1, int(size)))),
        *((name, 0, current(form)) for name, form in CURRENT.items()),
        *((name, -1, dated(name, place)) for name, place in DATES.items()),
    ]

    def connect_virtually(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **kwargs)
        for name, count, function in functions:
            connection.create_function(name, count, function)
        return connection

    sqlite3.connect = connect_virtually  # type: ignore[assignment]
