"""Judges of short answers whose time has no bound of its own, as a module for ``sandbox.confined``.

An expression such as ``(a+)+$`` never ends on some texts, and a tower of powers keeps a mathematics package busy for
ever: neither is judged in our own process.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping

from spadework.envs.mathematics import same_value

WARM = (
    ("(x+1)^2", "x^2+2x+1"),
    ("[1,2]", "[1,2]"),
    (r"\sin^2 x+\cos^2 x", "1"),
    (r"\int x dx", "x^2/2"),
    (r"(-\infty, 3)\cup(4,5]", r"(-\infty,3)\cup(4,5]"),
    (r"\frac{x^2-1}{x-1}", "x+1"),
)
"""Answers whose comparison loads what the mathematics package loads at its first use of a kind of expression."""


def prepare(name: str) -> None:
    """Load what the judge ``name`` imports late: a confined child opens no file, and would call the answer wrong."""
    if name == "math":
        _warm_up()


@functools.cache
def _warm_up() -> None:
    for given, answer in WARM:
        same_value(given, answer)


def judge(name: str, text: str, answer: str) -> bool:
    """Whether ``text`` is right by the grader ``name``, whose expected answer is ``answer``."""
    return JUDGES[name](text, answer)


def regex(given: str, answer: str) -> bool:
    """The whole of it matches the expression ``answer``."""
    return re.fullmatch(answer, given) is not None


JUDGES: Mapping[str, Callable[[str, str], bool]] = {"regex": regex, "math": same_value}
"""Graders whose time has no bound of its own."""
