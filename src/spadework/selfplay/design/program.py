"""The one parser of a designer's reply: the last fenced Python block (method section 4, step 1)."""

from __future__ import annotations

import re

from spadework.envs.actions import strip_thinking

_OPEN = re.compile(r"^```(?:python|py)?[ \t]*$", re.MULTILINE)
_FENCE = re.compile(r"^```.*$\n?", re.MULTILINE)


def extract_program(reply: str) -> tuple[str, bool]:
    """The program of a reply and whether it had to be mended.

    Takes the last ``` block that opens as Python, up to its closing fence; an unclosed block runs to the end. A stray
    fence line inside is removed, which counts as mending: such a design is kept and scored 0. Empty when there is no
    block.
    """
    text = strip_thinking(reply)
    for opening in reversed([match for match in _OPEN.finditer(text) if _opens(text, match)]):
        source, mended = _block(text[opening.end() :])
        if source.strip():
            return source, mended
    return "", False


def _block(rest: str) -> tuple[str, bool]:
    """What follows an opening fence, up to the fence that closes it."""
    body = rest.lstrip("\n")
    closed = re.search(r"^```[ \t]*$", body, re.MULTILINE)
    if closed and not _continues(body[closed.end() :]):
        return body[: closed.start()].rstrip() + "\n", False
    mended = _FENCE.sub("", body)
    return mended.rstrip() + "\n", mended != body


def _opens(text: str, match: re.Match[str]) -> bool:
    """A bare fence opens a block only when an even number of fences stands before it."""
    named = match.group().strip("`").strip() != ""
    return named or len(_FENCE.findall(text[: match.start()])) % 2 == 0


def _continues(rest: str) -> bool:
    """Whether what follows a closing fence is more of the program: an indented line comes first."""
    line = next((line for line in rest.splitlines() if line.strip()), "")
    return line.startswith(("    ", "\t"))
