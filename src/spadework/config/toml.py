"""Plain data of a config as TOML text, with a comment above each key where one is given."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_WIDTH = 100


def toml_text(data: Mapping[str, Any], comments: Mapping[str, str] | None = None) -> str:
    """The data as TOML. ``None`` has no form in TOML: such a key is left out, or named as unset where it has a comment.

    Args:
        data: Strings, numbers, booleans, ``None``, and lists and tables of them.
        comments: ``section.key`` -> text above that key; ``section`` -> text above that table.
    """
    return "\n".join(_table(data, (), comments or {})).strip() + "\n"


def _table(data: Mapping[str, Any], path: tuple[str, ...], comments: Mapping[str, str]) -> Iterator[str]:
    """Lines of a table: its own keys first, because everything below a ``[header]`` belongs to that table."""
    inner = {key: value for key, value in data.items() if isinstance(value, Mapping)}
    for key, value in data.items():
        comment = comments.get(".".join((*path, key)))
        if key in inner or (value is None and comment is None):
            continue
        if comment is not None:
            yield from ("", *_comment(comment))
        yield f"{_key(key)} = {toml_value(value)}" if value is not None else f"# {_key(key)} is unset"
    for key, value in inner.items():
        where = (*path, key)
        yield from ("", *_comment(comments.get(".".join(where), "")))
        yield f"[{'.'.join(map(_key, where))}]"
        yield from _table(value, where, comments)


def _comment(text: str) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(" ".join(text.split()), _WIDTH)]


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _string(name)


def toml_value(value: Any) -> str:
    """One value as TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)  # TOML writes inf, nan and 1e-06 as Python does
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, Mapping):
        pairs = [f"{_key(key)} = {toml_value(item)}" for key, item in value.items() if item is not None]
        return f"{{ {', '.join(pairs)} }}" if pairs else "{}"
    raise TypeError(f"TOML has no form for {type(value).__name__}")


def _string(text: str) -> str:
    """A basic string. JSON escapes all that TOML wants escaped, but for the character DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
