"""Whether a text prints a governing formula: a name, a sign of equality, and arithmetic on other names.

Only the signs are looked at. So a rule in words is missed and a worked example counts: the share of such texts can be
compared between cycles, but says little about one text.
"""

from __future__ import annotations

import re

_NAME = r"(?:\\?[A-Za-z][A-Za-z_0-9]*)"
_SUBSCRIPT = r"(?:\([^()=\n]{1,30}\)|\[[^\[\]=\n]{1,30}\]|_?\{[^{}=\n]{1,30}\})?'?"
_EQUATION = re.compile(rf"(?<![\w<>=!]){_NAME}{_SUBSCRIPT}\s*(?::=|[=←≡≈∝])\s*(?![=<>])(?P<right>[^\n=;]{{1,160}})")
_OPERAND = rf"(?:{_NAME}{_SUBSCRIPT}|\d+(?:\.\d+)?|[)\]}}])"
_OPERATION = re.compile(
    rf"(?P<left>{_OPERAND})\s*(?:\*\*|//|[+*/^×·÷%⊕]|\bmod\b|\bxor\b|\\cdot|\\times|\s-\s|−)\s*"
    rf"(?P<right>\(?\s*{_NAME}|\d|\()"
    rf"|\d[A-Za-z]\b|\\frac|\\sum|\\sqrt|√|\b(?:sqrt|max|min|abs|floor|log|exp|sin|cos)\s*\("
)
_WORD = re.compile(r"[A-Za-z]")


def prints_formula(text: str) -> bool:
    """Whether some line of ``text`` says how one named quantity follows from others."""
    return any(_computes(match["right"]) for match in _EQUATION.finditer(text))


def _computes(right: str) -> bool:
    """Whether there is an operation in which a name takes part; ``3 + 4`` computes no rule."""
    return any(_WORD.search(match[0].replace("mod", "").replace("xor", "")) for match in _OPERATION.finditer(right))
