"""Write an environment program from a family and the numbers that a design sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from spadework.lessons.families import Family
from spadework.selfplay.design.prompts import class_name

Flaw = Literal["", "told", "frozen"]
"""A flaw that validation finds: the opening tells the answer, or every seed gives the same start."""


@dataclass(frozen=True, slots=True)
class Knobs:
    """The numbers that a design sets. Each can be read in the program's text."""

    length: int
    """Marks a turn."""
    steps: int = 1
    """Number of turns; 1 where all marks come at once."""
    tries: int = 1
    """Number of wrong answers that lose the game."""
    top: int = 9
    """The largest digit of the start."""
    shown: bool = True
    """Whether the opening shows the start. Without it the task is hopeless."""
    flaw: Flaw = ""


def write_program(family: Family, knobs: Knobs, title: str, noun: str) -> str:
    """Write an environment program whose class is named after ``title`` and whose opening speaks of ``noun``."""
    opening = f'f"{noun} {family.name} {family.shown}: "' if knobs.shown else f'"{noun} {family.name}: "'
    start = family.start.replace("{top}", str(knobs.top))
    body = (_in_turns if family.multi_turn else _at_once)(family, knobs, opening, start)
    lines = ["import random", "", "", f"class {class_name(title)}:", *(f"    {line}".rstrip() for line in body)]
    return "\n".join(lines) + "\n"


def _marks(family: Family, knobs: Knobs) -> list[str]:
    """The lines of the loop that draws marks, shows them and applies them."""
    return [
        f"    for i in range({knobs.length}):",
        f'        v = r.choice("{family.marks}")',
        '        text += f"{chr(65 + i)}{v}"',
        *(f"        {line}" for line in family.move),
    ]


def _seed(knobs: Knobs) -> str:
    return "7" if knobs.flaw == "frozen" else "seed"


def _slip(knobs: Knobs) -> str:
    return ' + f" answer: {self.end}"' if knobs.flaw == "told" else ""


def _at_once(family: Family, knobs: Knobs, opening: str, start: str) -> list[str]:
    return [
        "def reset(self, seed=None):",
        f"    r = random.Random({_seed(knobs)})",
        f"    {family.state} = {start}",
        f"    text = {opening}",
        *_marks(family, knobs),
        f'    self.end, self.tries = f"{family.shown}", {knobs.tries}',
        f"    return text{_slip(knobs)}",
        "",
        "def step(self, action):",
        "    if action[7:-1] != self.end:",
        "        self.tries -= 1",
        '        return "no", 0.0, self.tries < 1, False, {}',
        '    return "yes", 1.0, True, False, {}',
        "",
        "def solution(self):",
        "    return self.end",
    ]


def _in_turns(family: Family, knobs: Knobs, opening: str, start: str) -> list[str]:
    held = f"({family.state})" if "," in family.state else family.state
    return [
        "def reset(self, seed=None):",
        f"    self.r = r = random.Random({_seed(knobs)})",
        f"    {family.state} = {start}",
        f"    self.at, self.left, self.tries = {held}, {knobs.steps}, {knobs.tries}",
        f"    return {opening} + self.more(){_slip(knobs)}",
        "",
        "def more(self):",
        f'    {held}, r, text = self.at, self.r, ""',
        *_marks(family, knobs),
        f'    self.at, self.end = {held}, f"{family.shown}"',
        "    return text",
        "",
        "def step(self, action):",
        "    if action[7:-1] != self.end:",
        "        self.tries -= 1",
        '        return "no", 0.0, self.tries < 1, False, {}',
        "    self.left -= 1",
        "    if self.left < 1:",
        '        return "yes", 1.0, True, False, {}',
        "    return self.more(), 0.0, False, False, {}",
        "",
        "def solution(self):",
        "    return self.end",
    ]
