"""Whether two answers are the same mathematically."""

from __future__ import annotations

import importlib.util

NEEDS_EXTRA = "math_verify is not installed: pip install 'spadework[math]'"
"""What is said where a comparison of mathematics is asked for and its package is missing."""


def is_installed() -> bool:
    """Whether ``same_value`` can be used."""
    return importlib.util.find_spec("math_verify") is not None


def same_value(given: str, answer: str) -> bool:
    """By ``math_verify``: equal expressions, sets, intervals and the like; what cannot be read is wrong."""
    from math_verify import parse, verify

    try:
        gold, found = (parse(rf"\boxed{{{text}}}") for text in (answer, given))
        return bool(gold and found and verify(gold, found))
    except Exception:  # noqa: BLE001  a parser of whatever a model writes
        return False
