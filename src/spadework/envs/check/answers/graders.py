"""Varies the oracle's winning answer: what means the same must win, a near miss must not."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from spadework.envs.check.findings import Finding
from spadework.envs.check.panel.bench import Bench
from spadework.envs.check.players import Play

_INTEGER = re.compile(r"[-+]?\d+")
_DECIMAL = re.compile(r"[-+]?\d*\.\d+")
_LIST = re.compile(r"\s*[\[(]?\s*\S+(?:\s*,\s*\S+)+\s*[\])]?\s*")
_FIRST = 3
"""Seeds on which every kind is tried; one that is graded wrongly there is tried on the others too."""
ACCEPTED_SHARE = 0.75
"""A kind of near miss that wins on this share of seeds is the grader's fault; below it, another right answer's luck."""


_ANY_ORDER = re.compile(r"\bany order\b|\border (?:does not|doesn't) (?:matter|count)\b", re.IGNORECASE)


def equivalents(answer: str, opening: str = "") -> dict[str, str]:
    """Kind of variant -> another way to give the same answer; ``opening`` may say that its order does not matter."""
    found = {"spaces": f"  {answer} ", "a trailing period": f"{answer}."}
    if _INTEGER.fullmatch(answer):
        found["a decimal"] = f"{answer}.0"
        if len(answer.lstrip("+-")) > 3:
            found["thousands separators"] = f"{int(answer):,}"
    elif _DECIMAL.fullmatch(answer):
        found["a trailing zero"] = f"{answer}0"
        if (value := Fraction(answer)).denominator <= 1000:
            found["a fraction"] = f"{value.numerator}/{value.denominator}"
    elif "," in answer and _LIST.fullmatch(answer):
        found["spaces after commas"] = re.sub(r"\s*,\s*", ", ", answer)
        found["no spaces after commas"] = re.sub(r"\s*,\s*", ",", answer)
    elif answer.isalpha():
        found["upper case"] = answer.upper()
        found["lower case"] = answer.lower()
        found["\\text"] = rf"\text{{{answer}}}"
    if _ANY_ORDER.search(opening) and len(items := re.split(r"\s*,\s*|\s+", answer.strip())) > 1:
        found["another order"] = (", " if "," in answer else " ").join(reversed(items))
    return {kind: variant for kind, variant in found.items() if variant != answer}


def near_misses(answer: str) -> dict[str, str]:
    """Kind of mistake -> a wrong answer close to the right one."""
    found = {"an empty answer": " "}
    if answer.isdecimal() or (answer.isalpha() and len(answer) > 1):
        found["a longer word around it"] = f"7{answer}7" if answer.isdecimal() else f"qzx{answer}qzx"
    if _INTEGER.fullmatch(answer):
        found |= {"one more": str(int(answer) + 1), "one less": str(int(answer) - 1), "another digit": f"{answer}7"}
        if len(answer.lstrip("+-")) > 1:
            found["the first digits"] = answer[:-1]
        if len(answer) > 2 and answer.isdecimal():
            found["the digits in another order"] = answer[1:] + answer[0]
        if int(answer):
            found["the other sign"] = str(-int(answer))
    elif _DECIMAL.fullmatch(answer):
        found |= {"one more": str(float(answer) + 1), "the other sign": str(-float(answer))}
    elif len(parts := re.split(r"[,\s]+", answer.strip())) > 1:
        found["all but the last item"] = ", ".join(parts[:-1])
        found["the last item"] = parts[-1]
        found["other items too"] = ", ".join([*parts, "qzx", "7"])
    elif len(answer) > 2 and answer.isalpha():
        found |= {"the first letters": answer[:-1], "the letters backwards": answer[::-1]}
        found["the letters in another order"] = answer[1:] + answer[0]
        found["the first letter"] = answer[0]
    return {kind: wrong for kind, wrong in found.items() if wrong != answer}


async def check(bench: Bench) -> list[Finding]:
    """Play variants of the oracle's last answer on each seed that it won."""
    decode = bench.dialogue.decode
    plays = [(each, answer) for each in bench.solved if each.win and (answer := decode(each.actions[-1]))]
    if len(plays) < 3:
        return []
    right = await _by_kind(bench, plays, equivalents, wins=True)
    rejected = {kind: [not win for win in won] for kind, won in right.items()}
    accepted = await _by_kind(bench, plays, lambda answer, _: near_misses(answer), wins=False)
    bench.table.rejected += [value for values in rejected.values() for value in values]
    bench.table.accepted += [value for values in accepted.values() for value in values]
    findings = [
        Finding("ENV601", f"the right answer written with {kind} loses on every seed")
        for kind, values in rejected.items()
        if len(values) >= 3 and all(values)
    ]
    findings += [
        Finding("ENV602", f"{kind} for the right answer wins on {sum(values)} of {len(values)} seeds")
        for kind, values in accepted.items()
        if len(values) >= 3 and sum(values) >= ACCEPTED_SHARE * len(values)
    ]
    return findings + await _shotgun(bench, plays)


async def _by_kind(
    bench: Bench, plays: Sequence[tuple[Play, str]], vary: Callable[[str, str], dict[str, str]], *, wins: bool
) -> dict[str, list[bool]]:
    """Kind of variant -> whether it won, for each play in which it was tried; ``wins`` says whether it should."""
    variants: dict[str, list[tuple[Play, str]]] = {}
    for each, answer in plays:
        for kind, varied in vary(answer, each.opening).items():
            variants.setdefault(kind, []).append((each, varied))
    won = await _won_by_kind(bench, {kind: own[:_FIRST] for kind, own in variants.items()})
    doubtful = {kind: variants[kind][_FIRST:] for kind, first in won.items() if (not wins) in first}
    for kind, rest in (await _won_by_kind(bench, doubtful)).items():
        won[kind] += rest
    return won


async def _won_by_kind(bench: Bench, variants: Mapping[str, Sequence[tuple[Play, str]]]) -> dict[str, list[bool]]:
    won = iter(await _wins(bench, [variant for own in variants.values() for variant in own]))
    return {kind: [next(won) for _ in own] for kind, own in variants.items()}


async def _wins(bench: Bench, variants: Sequence[tuple[Play, str]]) -> list[bool]:
    """Whether a play wins with another last answer, for each."""
    scripts = [(each.seed, [*each.actions[:-1], bench.dialogue.encode(answer)]) for each, answer in variants]
    return await bench.wins("variant", scripts)


async def _shotgun(bench: Bench, plays: list[tuple[Play, str]]) -> list[Finding]:
    """Names the answers of every seed at once, the right one in no fixed place."""
    answers = sorted({answer for _, answer in plays})
    if len(answers) < 2:
        return []
    for separator in (", ", " "):
        wins = await _wins(bench, [(each, separator.join(answers)) for each, _ in plays])
        if sum(wins) >= ACCEPTED_SHARE * len(wins):
            return [
                Finding("ENV603", f"naming {len(answers)} answers at once wins on {sum(wins)} of {len(wins)} seeds")
            ]
    return []
