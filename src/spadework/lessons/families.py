"""The families of tasks: small state machines. The answer is the whole end state, one of at least a hundred.

A family is made of pieces of code. ``programs`` builds environments from them, and ``plays`` runs them to write the
work and the answer. Three manners in each of four skills make twelve families. The marks of the manner ``carry`` come
turn by turn, those of the others all at once.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from types import CodeType
from typing import Any, Literal

Manner = Literal["turn", "trade", "carry"]

SKILLS = ("Mathematical Reasoning", "Spatial Reasoning", "Logical Deduction", "Causal Inference")
"""The skills that have families: four of the method's six for games."""


@dataclass(frozen=True)
class Family:
    """One state machine.

    The pieces are Python code. They see a generator ``r``, the variables of the state, and the latest mark as ``v``.
    """

    name: str
    skill: str
    manner: Manner
    state: str
    """The variables, as the left side of an assignment."""
    shown: str
    """The inside of an f-string that writes the whole state."""
    start: str
    """An expression for the state; ``{top}`` stands for the range of its digits."""
    marks: str
    """The marks, one letter or digit each."""
    move: tuple[str, ...]
    """Statements that apply the mark ``v``."""
    hint: str
    """It says how to solve the task and asks for the state after each mark."""

    @property
    def multi_turn(self) -> bool:
        """Whether its marks come in several turns."""
        return self.manner == "carry"

    @cached_property
    def _code(self) -> tuple[CodeType, CodeType]:
        shown = compile(f'f"{self.shown}"', self.name, "eval")
        return shown, compile("\n".join(self.move), self.name, "exec")

    def begin(self, rng: random.Random, top: int) -> Machine:
        """A machine whose start is drawn just as a program of the family does."""
        names: dict[str, Any] = {"r": rng}
        exec(f"{self.state} = {self.start.replace('{top}', str(top))}", names)
        return Machine(self, names)


class Machine:
    """A family in a state. ``run`` draws and applies marks just as a program of the family does."""

    def __init__(self, family: Family, names: dict[str, Any]) -> None:
        self._family, self._names = family, names

    @property
    def shown(self) -> str:
        """The whole state, written out."""
        return str(eval(self._family._code[0], self._names))

    def run(self, steps: int) -> Iterator[tuple[str, str]]:
        """Draw and apply ``steps`` marks; yields each mark and the state after it."""
        for _ in range(steps):
            self._names["v"] = mark = self._names["r"].choice(self._family.marks)
            exec(self._family._code[1], self._names)
            yield mark, self.shown


_PAIR = {"state": "p, q", "shown": "{p}{q}", "start": "r.randint(0, {top}), r.randint(0, {top})"}
_GRID = {"state": "x, y", "shown": "{x}{y}", "start": "r.randint(0, {top}), r.randint(0, {top})"}
_ROW = {"state": "row", "shown": "{row}", "start": '"".join(r.sample("12345", 5))'}
_MATHS, _SPACE, _LOGIC, _CAUSE = SKILLS

FAMILIES = (
    Family(
        "dials",
        _MATHS,
        "turn",
        marks="UDX",
        move=('p, q = {"U": ((p + 1) % 10, q), "D": ((p - 1) % 10, q), "X": (q, p)}[v]',),
        hint="Up and down turn the left dial, X trades both. After each mark write both dials.",
        **_PAIR,
    ),
    Family(
        "till",
        _MATHS,
        "trade",
        state="n",
        shown="{n:02}",
        start="r.randint(0, 11 * {top})",
        marks="+-M",
        move=('n = {"+": n + 1, "-": n - 1, "M": n % 10 * 10 + n // 10}[v] % 100',),
        hint="Count up or down, M trades the digits. After each mark write the number.",
    ),
    Family(
        "jars",
        _MATHS,
        "carry",
        marks="ABP",
        move=('p, q = {"A": (p + 1, q), "B": (p, q + 1), "P": (p - 1, q + 1)}[v]', "p, q = p % 10, q % 10"),
        hint="A and B fill a jar, P pours one across. After each mark write both jars.",
        **_PAIR,
    ),
    Family(
        "turtle",
        _SPACE,
        "turn",
        state="f, x, y",
        shown="{f}{x}{y}",
        start='r.choice("NESW"), r.randint(0, {top}), r.randint(0, {top})',
        marks="LRF",
        move=(
            'x = (x + (v + f == "FE") - (v + f == "FW")) % 10',
            'y = (y + (v + f == "FN") - (v + f == "FS")) % 10',
            'f = "NESW"["NESW".index(f) - {"L": 1, "R": 3, "F": 0}[v]]',
        ),
        hint="Turn left or right, F walks ahead. After each mark write facing and place.",
    ),
    Family(
        "mirror",
        _SPACE,
        "trade",
        marks="FMS",
        move=('x, y = {"F": (x, (y + 1) % 10), "M": (9 - x, y), "S": (y, x)}[v]',),
        hint="F walks up, M mirrors across, S trades both. After each mark write the place.",
        **_GRID,
    ),
    Family(
        "walk",
        _SPACE,
        "carry",
        marks="NESW",
        move=('x = (x + (v == "E") - (v == "W")) % 10', 'y = (y + (v == "N") - (v == "S")) % 10'),
        hint="East and west change the first, north and south the second. After each mark write the place.",
        **_GRID,
    ),
    Family(
        "cups",
        _LOGIC,
        "turn",
        marks="RSV",
        move=('row = {"R": row[1:] + row[0], "S": row[1] + row[0] + row[2:], "V": row[::-1]}[v]',),
        hint="Roll, swap the first two, or reverse. After each mark write the row.",
        **_ROW,
    ),
    Family(
        "seats",
        _LOGIC,
        "trade",
        marks="1234",
        move=("k = int(v)", "row = row[: k - 1] + row[k] + row[k - 1] + row[k + 1 :]"),
        hint="A seat trades with the next one. After each mark write the row.",
        **_ROW,
    ),
    Family(
        "queue",
        _LOGIC,
        "carry",
        marks="12345",
        move=('row = v + row.replace(v, "")',),
        hint="Who is called goes to the front. After each mark write the line.",
        **_ROW,
    ),
    Family(
        "cakes",
        _CAUSE,
        "turn",
        marks="2345",
        move=("row = row[: int(v)][::-1] + row[int(v) :]",),
        hint="So many from the top turn over. After each mark write the stack.",
        **_ROW,
    ),
    Family(
        "gears",
        _CAUSE,
        "trade",
        marks="UDX",
        move=('p, q = {"U": (p + 1, q - 1), "D": (p - 1, q + 1), "X": (q, p)}[v]', "p, q = p % 10, q % 10"),
        hint="One gear drives the other back, X trades both. After each mark write both gears.",
        **_PAIR,
    ),
    Family(
        "belt",
        _CAUSE,
        "carry",
        marks="12345",
        move=("k = int(v)", "row = row[: k - 1] + row[k:] + row[k - 1]"),
        hint="The one at that place goes to the end. After each mark write the belt.",
        **_ROW,
    ),
)


def family_of(skill: str, manner: Manner) -> Family:
    """The family of a skill in a manner."""
    return next(family for family in FAMILIES if family.skill == skill and family.manner == manner)
