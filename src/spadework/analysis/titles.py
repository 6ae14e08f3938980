"""What a reader calls an environment: the name of its class and the first line of its docstring.

Both are found by pattern, not by parsing: a table names thousands of programs at once, and one that does not parse has
a name all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_CLASS = re.compile(
    r"class[ \t]+(?P<name>\w{1,120})[^\n]{0,200}:[ \t]*(?:\#[^\n]{0,200})?\n"
    r"(?:[ \t]*\n){0,3}(?:[ \t]+[rR]?(?P<quote>\"\"\"|\'\'\'|\"|\')[ \t]*\n?[ \t]*(?P<line>[^\n]{0,300}))?"
)
_SEARCHED = 40_000
"""Characters of a program that are searched."""
_LONGEST = 160
"""Characters of a docstring's line that are kept."""


@dataclass(frozen=True, slots=True)
class ProgramTitle:
    """Both texts are empty where the program has none."""

    name: str = ""
    summary: str = ""


def program_title(source: str) -> ProgramTitle:
    """The title of the last class that defines ``step``, or else of the last class."""
    text = source[:_SEARCHED]
    found = [one for start in _lines_that_begin(text, "class") if (one := _CLASS.match(text, start))]
    if not found:
        return ProgramTitle()
    ends = [later.start() for later in found[1:]] + [len(text)]
    playable = [one for one, end in zip(found, ends, strict=True) if "def step" in text[one.start() : end]]
    chosen = (playable or found)[-1]
    summary = (chosen["line"] or "").partition(chosen["quote"] or "\n")[0].strip()
    return ProgramTitle(chosen["name"], summary[:_LONGEST])


def _lines_that_begin(text: str, word: str) -> Iterator[int]:
    """Where lines begin with ``word``. A search for plain text is many times as fast as a pattern's for line starts."""
    if text.startswith(word):
        yield 0
    start = text.find(f"\n{word}")
    while start >= 0:
        yield start + 1
        start = text.find(f"\n{word}", start + 1)
