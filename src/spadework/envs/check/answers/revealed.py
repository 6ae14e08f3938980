"""Whether the answer is told to a player who errs: in the feedback, in another form, or in ``info``.

A short answer stands in many texts by chance. So an answer counts as told only where the feedback of its own seed holds
it and the feedback of other seeds mostly does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spadework.envs.check.answers.leaks import mentions
from spadework.envs.check.findings import Finding
from spadework.envs.check.panel.bench import Bench
from spadework.envs.check.players import Play
from spadework.envs.sandbox.base import act
from spadework.envs.tool_calls import render_call
from spadework.errors import ProgramError

_SEEDS = 4
"""Seeds on which an error is made: each takes a request for every step."""
OWN_SHARE = 0.75
"""Share of the seeds whose feedback must hold their own answer."""
CROSS_SHARE = 0.4
"""Share of pairs of seeds at which the feedback of one may hold the answer of the other."""
_DIGITS = "zero one two three four five six seven eight nine".split()


@dataclass(frozen=True, slots=True)
class _Told:
    """What one seed showed a player who erred."""

    seed: int
    wrong: tuple[str, ...]
    """The actions that were taken."""
    answers: tuple[str, ...]
    """What would have won, before the errors and after them; not what the first observation shows. May be empty."""
    feedback: str
    info: str
    last: str
    """What the oracle won with, whatever the first observation shows."""
    values: frozenset[str]
    """The single values of ``info``."""


def forms(answer: str) -> Iterator[tuple[str, str]]:
    """How an answer may be written so that a player can read it: the kind of each form, and its text."""
    text = answer.strip()
    yield "", text
    if text.isdecimal():
        yield " in digit words", " ".join(_DIGITS[int(digit)] for digit in text)
    if len(text) > 2 and text.isalnum():
        yield " letter by letter", " ".join(text)
        yield " letter by letter", "-".join(text)
        yield " letter by letter", ", ".join(text)
        if text != text[::-1]:
            yield " backwards", text[::-1]


async def check(bench: Bench) -> list[Finding]:
    """Err once or twice on each seed, and look for the answer in what comes back before the end."""
    if bench.shadow is None:
        return []
    won = [play for play in bench.solved if play.win]
    everyone = [one for play in won[:_SEEDS] for one in await _err(bench, play)]
    told = [one for one in everyone if one.answers]
    findings = []
    kind = _reveals(told, [one.feedback for one in told])
    if kind is not None and await _wins(bench, told):
        findings.append(Finding("ENV502", f"after an error the feedback tells the answer{kind}"))
    if _reveals(told, [one.info for one in told]) is not None or _named(everyone):
        findings.append(Finding("ENV507", "info holds the answer before the end"))
    return findings


async def _err(bench: Bench, play: Play) -> list[_Told]:
    """Nothing where the oracle's last action is no answer."""
    last = bench.dialogue.decode(play.actions[-1])
    if not last or bench.shadow is None:
        return []
    opened = await bench.shadow.reset(play.seed)
    wrong, steps = [], [opened]
    # Where no play takes a second turn, an error ends it too, and only what the first observation came with is left.
    for action in _wrong(bench, play) if bench.table.goes_on else ():
        step = await act(bench.shadow, action)
        wrong.append(action)
        steps.append(step)
        if step.done:
            break
    answers = [last]
    if wrong and not steps[-1].done:
        answers += await _next_answer(bench)
    hidden = tuple(answer for answer in dict.fromkeys(answers) if not mentions(opened.observation, answer))
    feedback = "\n".join(step.observation for step in steps[1:] if not step.done)
    infos = [step.info for step in steps if not step.done]
    values = frozenset(value for info in infos for value in _values(info))
    return [_Told(play.seed, tuple(wrong), hidden, feedback, _info(infos), last, values)]


def _wrong(bench: Bench, play: Play) -> list[str]:
    """Wrong answers, and calls that must fail; no more than leave a turn for the answer."""
    own = bench.dialogue.decode(play.actions[-1])
    others = [answer for answer in bench.answers() if answer != own]
    answers = [bench.dialogue.encode(answer) for answer in dict.fromkeys([*others[:1], "qzx"])]
    calls = []
    for tool in bench.session.tools:
        function = tool.get("function", tool)
        if function.get("parameters", {}).get("required"):
            calls.append(render_call(str(function.get("name")), {}))
    return [*calls, *answers][: max(1, bench.turns - 1)]


async def _next_answer(bench: Bench) -> list[str]:
    """What the oracle would say now; nothing where it has nothing to say after an error."""
    assert bench.shadow is not None
    try:
        said = await bench.shadow.call("solution")
    except ProgramError as error:
        if error.fault.code not in ("ENV201", "ENV204", "ENV407"):
            raise
        return []
    answer = bench.dialogue.decode(bench.dialogue.encode(str(said))) if said is not None else None
    return [answer] if answer else []


def _info(infos: Sequence[Mapping[str, Any]]) -> str:
    """The values of ``info`` as text; its keys tell nothing."""
    return "\n".join(str(value) for info in infos for value in info.values())


def _values(inside: Any) -> Iterator[str]:
    """Every value that has a key of its own, as text; a list of several offers a choice and tells nothing."""
    if isinstance(inside, Mapping):
        for one in inside.values():
            yield from _values(one)
    elif isinstance(inside, list) and len(inside) == 1:
        yield from _values(inside[0])
    elif inside is not None and not isinstance(inside, list):
        yield str(inside).strip()


def _named(told: Sequence[_Told]) -> bool:
    """Whether ``info`` singles out the answer, be it one of those that the first observation offers.

    A value of it is the answer on most seeds, and is not the answer of other seeds.
    """
    own = [one.last.strip() in one.values for one in told]
    cross = [other.last.strip() in one.values for one in told for other in told if one.last != other.last]
    return len(own) > 1 and _mostly(own, cross)


def _mostly(own: Sequence[bool], cross: Sequence[bool]) -> bool:
    often = sum(own) >= OWN_SHARE * len(own)
    return often and bool(cross) and sum(cross) <= CROSS_SHARE * len(cross)


def _reveals(told: Sequence[_Told], texts: Sequence[str]) -> str | None:
    """The kind of form in which texts hold their own answers and not those of other seeds; ``None`` without any."""
    kinds = dict.fromkeys(kind for one in told for answer in one.answers for kind, _ in forms(answer))
    for kind in kinds:
        own = [_holds(text, one.answers, kind) for one, text in zip(told, texts, strict=True)]
        cross = [
            _holds(text, other.answers, kind)
            for one, text in zip(told, texts, strict=True)
            for other in told
            if not set(one.answers) & set(other.answers)
        ]
        if len(own) > 1 and _mostly(own, cross):
            return kind
    return None


def _holds(text: str, answers: Sequence[str], kind: str) -> bool:
    plain = re.sub(r"\s+", " ", text)
    return any(mentions(plain, form) for answer in answers for name, form in forms(answer) if name == kind)


async def _wins(bench: Bench, told: Sequence[_Told]) -> bool:
    """Whether who errs and then says what was told wins, on most seeds."""
    kept = {one.seed: one for one in told}
    scripts = [
        (seed, [*one.wrong, bench.dialogue.encode(answer)]) for seed, one in kept.items() for answer in one.answers
    ]
    wins = await bench.wins("told", scripts)
    won = {seed for (seed, _), win in zip(scripts, wins, strict=True) if win}
    return len(won) >= OWN_SHARE * len(kept)
