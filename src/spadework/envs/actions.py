"""The one parser of what an agent's reply plays: the last balanced box of a games reply."""

from __future__ import annotations

import re

_BOX = re.compile(r"\\boxed\s*\{")
_BRACE = re.compile(r"[{}]")
_THINK = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)


def strip_thinking(text: str) -> str:
    """The text without ``<think>`` blocks; an unclosed block runs to the end, a bare closing tag ends one."""
    if "think>" not in text:
        return text
    if "</think>" in text and "<think>" not in text.split("</think>", 1)[0]:
        text = text.split("</think>", 1)[1]
    return _THINK.sub("", text)


def last_box(reply: str) -> str | None:
    r"""The content of the last balanced ``\boxed{...}``, stripped; ``None`` without one or when it is empty.

    An unclosed box is not an action, and neither is a number that stands outside of any (faults.md, 6).
    """
    text = strip_thinking(reply)
    found: str | None = None
    position = 0
    while match := _BOX.search(text, position):
        start = position = match.end()
        depth = 1
        for brace in _BRACE.finditer(text, start):
            depth += 1 if brace[0] == "{" else -1
            if not depth:
                found, position = text[start : brace.start()].strip(), brace.end()
                break
    return found or None
