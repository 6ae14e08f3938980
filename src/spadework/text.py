"""The door through which every text from outside passes once: what a model, a program or a file says.

What has passed ``clean`` can be encoded as UTF-8, kept in any store and sent anywhere. What is shown on a terminal
passes ``printable`` besides.
"""

from __future__ import annotations

import ast
import re
import threading
import warnings
from collections.abc import Iterator
from itertools import islice
from typing import Any

REPLACEMENT = "\ufffd"
"""Stands for a character that no store takes."""
MAX_DEPTH = 100
"""Lists and objects inside each other that ``clean_json`` accepts."""

MAX_BRACES = 10_000
"""Opening braces of a Python source. CPython parses an f-string in a time that grows with the square of its fields."""

# CPython 3.11 counts the depth of the tree that it builds in one place for all threads: two that parse at once fail
# with "AST constructor recursion depth mismatch". ``catch_warnings`` is not safe among threads either.
_PARSING = threading.Lock()
_SURROGATE = re.compile("[\ud800-\udfff]")
# Control characters but tab and newline, marks that turn the direction of writing, and separators of lines.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
# Thai, Lao, Tibetan, Burmese, Khmer, kana and Han, in this order, are written without blanks.
_UNSPACED = (
    "\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_WORD = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]{{1,100}}")


def clean(text: str) -> str:
    """The text as UTF-8 can carry it: lone surrogates and NUL become U+FFFD, and byte-order marks in front go.

    The two halves of a surrogate pair become the character that they stand for. What is clean stays as it is.
    """
    if not text.isascii() and _SURROGATE.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if "\0" in text:
        text = text.replace("\0", REPLACEMENT)
    return text.lstrip("\ufeff")


def clean_json(value: Any, depth: int = MAX_DEPTH) -> Any:
    """A value of JSON with every text and every key of it clean. Raises ``ValueError`` when it is nested too deeply."""
    if isinstance(value, str):
        return clean(value)
    if not isinstance(value, dict | list):
        return value
    if depth <= 0:
        raise ValueError(f"lists and objects stand more than {MAX_DEPTH} deep in each other")
    if isinstance(value, dict):
        return {clean(str(key)): clean_json(item, depth - 1) for key, item in value.items()}
    return [clean_json(item, depth - 1) for item in value]


def decode(data: bytes) -> str:
    """The clean text of UTF-8. Raises ``ValueError``, which says where, for bytes that are no UTF-8."""
    try:
        return clean(data.decode())
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"not UTF-8: byte {data[error.start]:#04x} on line {line}") from None


def printable(text: str) -> str:
    r"""The text as a terminal may show it: what moves its cursor, or turns or hides text, is spelt out (``\x1b``)."""
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def word_ends(text: str) -> Iterator[int]:
    """Where each word of a text ends, from its first to its last: so many are cut off without a change to the rest.

    Words stand between blanks of any kind. In scripts that are written without blanks each character counts as one, and
    so do a hundred characters in a row of any other.
    """
    return (word.end() for word in _WORD.finditer(text))


def first_words(text: str, most: int) -> str:
    """The text up to the end of word ``most``; all of it when there are fewer."""
    end = next(islice(word_ends(text), most, None), None)
    if end is None:
        return text
    return text[: next(islice(word_ends(text), most - 1, None))]


def parse_python(source: str | bytes) -> ast.Module:
    """The syntax tree of a Python source.

    Raises ``SyntaxError`` for whatever cannot be parsed: null bytes, too deep nesting, and a source that would take
    very long.
    """
    braces = source.count("{") if isinstance(source, str) else source.count(b"{")
    if braces > MAX_BRACES:
        raise SyntaxError(f"the source has {braces} opening braces; at most {MAX_BRACES} are parsed")
    try:
        with _PARSING, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(str(error) or "nested too deeply") from error
