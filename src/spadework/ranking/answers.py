r"""Prompts with an expected answer, for people who have no environments, and the graders of their replies.

A grader reads the last balanced ``\boxed{...}`` of a reply and returns 1 or 0. Graders without a bound on their time
run in confined processes (``envs.judges``); when one takes too long, that is a grader fault.
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

from spadework.envs import mathematics
from spadework.envs.actions import last_box
from spadework.envs.judges import JUDGES
from spadework.envs.sandbox.confined import ConfinedGrader
from spadework.errors import ConfigError
from spadework.text import clean_json, decode

RELATIVE_ERROR = 1e-6
"""Largest relative error of a correct numeric answer."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One line of a JSONL of prompts."""

    id: str
    prompt: str
    hint: str
    answer: str
    grader: str
    """``exact``, ``numeric``, ``regex`` or ``math``."""


class Grader:
    """Grades replies. Its processes start when a reply first needs them."""

    def __init__(self) -> None:
        self._confined = ConfinedGrader("spadework.envs.judges")

    async def grade(self, prompt: Prompt, reply: str) -> float:
        """1 when the reply's last box holds the expected answer, else 0.

        Raises:
            GraderError: the grader took too long, or died.
            SandboxError: graders cannot be confined on this machine.
        """
        given = last_box(reply)
        if given is None:
            return 0.0
        if prompt.grader in QUICK:
            return float(QUICK[prompt.grader](given, prompt.answer))
        await self._confined.prepare(prompt.grader)
        return float(await self._confined.judge(prompt.grader, given, answer=prompt.answer))

    async def aclose(self) -> None:
        """End the processes."""
        await self._confined.close()


def exact(given: str, answer: str) -> bool:
    """Whether two texts are equal up to whitespace."""
    return given.split() == answer.split()


def numeric(given: str, answer: str) -> bool:
    """Whether two numbers agree to six digits; ``1,000``, ``1e3``, ``3/4`` and ``75 %`` are understood."""
    values = _number(given), _number(answer)
    return None not in values and math.isclose(*values, rel_tol=RELATIVE_ERROR, abs_tol=1e-12)  # type: ignore[arg-type]


QUICK: Mapping[str, Callable[[str, str], bool]] = {"exact": exact, "numeric": numeric}
"""Graders that run in this process, because their time is bounded by the length of the answer."""
GRADERS = (*QUICK, *JUDGES)
"""The names of all graders that a prompt may choose."""


def load_prompts(path: Path) -> list[Prompt]:
    """Load the prompts of a JSONL file. Raises ``ConfigError`` that names the line and what is wrong with it."""
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
    if prompt.grader == "math" and not mathematics.is_installed():
        raise ConfigError(f"{where}: the grader 'math' cannot be used, because {mathematics.NEEDS_EXTRA}")
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
        # A Fraction only where there is a slash: it would write 1e999999999 out in full.
        value = (float(Fraction(plain)) if "/" in plain else float(plain)) * scale
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    return value if math.isfinite(value) else None
