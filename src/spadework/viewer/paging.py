"""One page of a table: search, filter, sort, cut."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MOST = 500
"""Rows of one page at most."""
_CONTROL = ("sort", "desc", "search", "offset", "limit", "run")


@dataclass(frozen=True, slots=True)
class Ask:
    """Which rows a page wants; ``where`` holds a column and the value that it must have, as text."""

    sort: str = ""
    desc: bool = False
    search: str = ""
    where: Mapping[str, str] = field(default_factory=dict)
    offset: int = 0
    limit: int = 50

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Ask:
        """From a URL's query; what is no number counts as the default, empty filters as none."""
        return cls(
            sort=query.get("sort", ""),
            desc=query.get("desc") == "1",
            search=query.get("search", "").strip(),
            where={key: value for key, value in query.items() if key not in _CONTROL and value},
            offset=number(query.get("offset"), 0),
            limit=min(MOST, max(1, number(query.get("limit"), 50))),
        )


def number(text: str | None, default: int) -> int:
    """A count that a URL holds."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 16 else default


def page(rows: Sequence[Mapping[str, Any]], ask: Ask, searched: Iterable[str]) -> dict[str, Any]:
    """``rows`` of the page and ``total``, the count of all that match; a missing value sorts last either way."""
    columns, needle = tuple(searched), ask.search.casefold()
    found = [
        row
        for row in rows
        if all(str(row.get(key)) == value for key, value in ask.where.items())
        and (not needle or any(needle in str(row.get(column) or "").casefold() for column in columns))
    ]
    if ask.sort and any(ask.sort in row for row in found[:1]):
        present = [row for row in found if row[ask.sort] is not None]
        present.sort(key=lambda row: _comparable(row[ask.sort]), reverse=ask.desc)
        found = present + [row for row in found if row[ask.sort] is None]
    return {"rows": found[ask.offset : ask.offset + ask.limit], "total": len(found)}


def _comparable(value: Any) -> Any:
    return value if isinstance(value, int | float) else str(value).casefold()
