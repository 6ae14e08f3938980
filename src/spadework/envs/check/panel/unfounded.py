"""Answers that are right nowhere, each of which some natural bug of a grader pays.

``re.fullmatch(said, answer)`` pays ``.*``, ``abs(float(said) - x) > tolerance`` pays ``nan``, and a search for the
answer in the reply pays all numbers at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from spadework.envs.check.findings import Finding
from spadework.envs.check.panel.bench import SEEDS, Bench
from spadework.envs.domain import Dialogue
from spadework.envs.sandbox.base import Script, Session
from spadework.errors import ProgramError

ANSWERS = {
    "a pattern": ".*",
    "not a number": "nan",
    "infinity": "inf",
    "braces": "{}",
    "a format field": "{0}",
    "a percent format": "%s",
    "a sentence": "I think that this is the right answer.",
    "an equation": "x = x",
    "a truth value": "True",
    "every letter and number": " ".join("abcdefghijklmnopqrstuvwxyz0123456789"),
}
"""Description -> answer."""
LONG = {
    "a very long text": "qzx " * 5_000,
    "every number from 1 to 10,000": " ".join(str(number) for number in range(1, 10_001)),
}
"""The same, of answers that an honest grader may take too long over: math_verify takes six seconds."""

_FIRST = 2
"""Seeds on which each is tried; one that wins there is tried on ``SEEDS``."""
_TURNS = 3
"""Turns for which each is said, or as many as the oracle takes: nonsense that is paid wins no later than that."""
_LONG_TURNS = 2
"""Turns for which a long one is said."""
_FATAL = ("ENV205", "ENV206", "ENV207", "ENV208")
"""Faults after which an instance cannot be played on."""


async def check(bench: Bench) -> list[Finding]:
    """Say each of these answers but the long ones; one that wins on half of the seeds is a fault of the grader."""
    descriptions = [*_actions(bench.dialogue), "the first observation"]
    try:
        return await _said(bench, descriptions)
    except ProgramError as error:
        if error.fault.code in _FATAL:
            raise
        return await _one_by_one(bench, descriptions)


async def check_long(bench: Bench, session: Session) -> list[Finding]:
    """Say the long ones to ``session``, which nobody needs any more: to lose it over them is a warning."""
    try:
        return await _said(replace(bench, session=session), tuple(_actions(bench.dialogue, long=True)))
    except ProgramError as error:
        return [Finding("ENV212", f"a very long answer: {error.fault.message}")]


async def _said(bench: Bench, descriptions: Sequence[str]) -> list[Finding]:
    """Say each on a few seeds, and those that win there on all."""
    seeds = [bench.seed(index) for index in range(_FIRST)]
    openings = await bench.openings(seeds)
    scripts = [(what, _script(bench, seed, what, openings)) for what in descriptions for seed in seeds]
    wins = await bench.wins("unfounded", [script for _, script in scripts])
    suspects = dict.fromkeys(what for (what, _), win in zip(scripts, wins, strict=True) if win)
    return [finding for what in suspects for finding in await _judge(bench, what)]


async def _one_by_one(bench: Bench, descriptions: Sequence[str]) -> list[Finding]:
    """The same where some answer makes the program raise: that is told, and the others are still tried."""
    findings: list[Finding] = []
    for what in descriptions:
        try:
            findings += await _judge(bench, what)
        except ProgramError as error:
            if error.fault.code in _FATAL:
                raise
            findings.append(Finding("ENV212", f"{what}: {error.fault.message}"))
    return findings


async def _judge(bench: Bench, what: str) -> list[Finding]:
    """How often one answer wins over all seeds."""
    first = [bench.seed(index) for index in range(_FIRST)]
    openings = await bench.openings(first)
    wins = await bench.wins("unfounded", [_script(bench, seed, what, openings) for seed in first])
    if not any(wins):
        return []
    rest = [bench.seed(index) for index in range(_FIRST, SEEDS)]
    openings = await bench.openings(rest)
    wins += await bench.wins("unfounded", [_script(bench, seed, what, openings) for seed in rest])
    if 2 * sum(wins) >= len(wins):
        return [Finding("ENV404", f"{what} wins on {sum(wins)} of {len(wins)} seeds")]
    return []  # "inf" may name three of a game's letters by chance


@cache
def _actions(dialogue: Dialogue, *, long: bool = False) -> dict[str, str]:
    """Description -> action, of answers that the domain can say: a brace that is not closed, for one, ends a box."""
    actions = {what: _action(dialogue, answer) for what, answer in (LONG if long else ANSWERS).items()}
    return {what: action for what, action in actions.items() if action}


def _action(dialogue: Dialogue, answer: str) -> str:
    action = dialogue.encode(answer)
    return action if dialogue.action(action) else ""


def _script(bench: Bench, seed: int, what: str, openings: Mapping[int, str]) -> Script:
    if what in LONG:
        return seed, [_actions(bench.dialogue, long=True)[what]] * min(bench.turns, _LONG_TURNS)
    known = _actions(bench.dialogue)
    action = known[what] if what in known else _action(bench.dialogue, openings[seed])
    return seed, [action] * min(bench.turns, max([_TURNS, *(len(each.steps) for each in bench.solved)]))
