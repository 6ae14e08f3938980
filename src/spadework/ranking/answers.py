r"""Prompts with an expected answer, for people who have no environments, and the graders of their replies.

A grader is total: it judges the last balanced ``\boxed{...}`` of a reply, gives 1 or 0, and never raises.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from spadework.envs.actions import last_box
from spadework.envs.mathematics import same_value
from spadework.errors import ConfigError
from spadework.text import clean_json, decode

RELATIVE_ERROR = 1e-6
"""By which a numeric answer may differ."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One line of a JSONL of prompts."""

    id: str
    prompt: str
    hint: str
    answer: str
    grader: str
    """``exact``, ``numeric``, ``regex`` or ``math``."""


def grade(prompt: Prompt, reply: str) -> float:
    """1 when the reply's last box holds the expected answer, else 0."""
    given = last_box(reply)
    return float(given is not None and GRADERS[prompt.grader](given, prompt.answer))


def exact(given: str, answer: str) -> bool:
    """The same text, but for blanks."""
    return given.split() == answer.split()


def numeric(given: str, answer: str) -> bool:
    """The same number to six digits; ``1,000``, ``1e3``, ``3/4`` and ``75 %`` are read."""
    values = _number(given), _number(answer)
    return None not in values and math.isclose(*values, rel_tol=RELATIVE_ERROR, abs_tol=1e-12)  # type: ignore[arg-type]


def regex(given: str, answer: str) -> bool:
    """The whole of it matches the expression ``answer``."""
    return re.fullmatch(answer, given) is not None


GRADERS: Mapping[str, Callable[[str, str], bool]] = {
    "exact": exact,
    "numeric": numeric,
    "regex": regex,
    "math": same_value,
}


def load_prompts(path: Path) -> list[Prompt]:
    """The prompts of a JSONL file. Raises ``ConfigError`` that names the line, and what is wrong with it."""
    try:
        lines = decode(path.read_bytes()).split("\n")
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    prompts: dict[str, Prompt] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        prompt = _prompt(line, f"{path}, line {number}")
        if prompt.id in prompts:
            raise ConfigError(f"{path}, line {number}: the id {prompt.id!r} stands on an earlier line already")
        prompts[prompt.id] = prompt
    if not prompts:
        raise ConfigError(f"{path}: holds no prompt")
    return list(prompts.values())


def _prompt(line: str, where: str) -> Prompt:
    try:
        row: Any = clean_json(json.loads(line))
    except ValueError as error:
        raise ConfigError(f"{where}: not valid JSON: {error}") from None
    names = asdict(Prompt("", "", "", "", ""))
    if not isinstance(row, dict) or set(row) != set(names) or not all(isinstance(row[name], str | int) for name in row):
        raise ConfigError(f"{where}: an object with the texts {', '.join(names)} is wanted")
    prompt = Prompt(**{name: str(row[name]) for name in names})
    if prompt.grader not in GRADERS:
        raise ConfigError(f"{where}: no grader {prompt.grader!r}; there are {', '.join(GRADERS)}")
    if prompt.grader == "regex":
        try:
            re.compile(prompt.answer)
        except re.error as error:
            raise ConfigError(f"{where}: {prompt.answer!r} is no regular expression: {error}") from None
    if prompt.grader == "numeric" and _number(prompt.answer) is None:
        raise ConfigError(f"{where}: {prompt.answer!r} is no number")
    return prompt


def _number(text: str) -> float | None:
    plain = re.sub(r"(?<=\d),(?=\d{3}(\D|$))", "", text.strip()).replace("$", "").replace("\u2212", "-")
    scale = 0.01 if plain.endswith("%") else 1.0
    plain = plain.removesuffix("%").removesuffix("\\").strip().replace(" ", "")
    try:
        value = float(Fraction(plain)) * scale
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    return value if math.isfinite(value) else None
