"""Answers that stand where the player sees them: in the first observation, in feedback, in a hint."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from spadework.envs.check.findings import Finding

_MARKS = (
    r"(?:(?:secret|hidden|correct|right|expected)\s{1,3}\w{1,20}|answer|solution|secret|expected|result)\w{0,20}"
    r"[\s'\"`*]{0,3}(?:is|was|are|=|:|->)+"
)
_NOISE = r"[\s'\"`*$(\[{\\]{0,8}(?:boxed\{|text\{)?[\s'\"`*$(\[]{0,8}"
_FORMULA = re.compile(
    r"\b[A-Za-z]\w{0,15}(?:\([\w, ]{0,20}\))?\s{0,3}=\s{0,3}[^=\n.,;]{0,60}[A-Za-z0-9)]\s{0,3}[-+*/^]"
    r"\s{0,3}[^=\n]{0,60}[A-Za-z]\w*"
)
"""Every repetition here is bounded: the text is a stranger's and the time is ours."""

HINT_WORDS = 100


def marked(text: str, answer: str) -> bool:
    """Whether ``answer`` stands in ``text`` behind a word and a sign that mark it as the answer."""
    if not _may_hold(text, answer.strip()):
        return False
    pattern = rf"{_MARKS}{_NOISE}{re.escape(answer.strip())}(?![\w])(?!\.\d)"
    return re.search(pattern, text, re.IGNORECASE) is not None


def mentions(text: str, answer: str, exact: bool = False) -> bool:
    """Whether ``answer`` stands in ``text`` as a whole, not inside of a longer word or number; ``exact`` minds case."""
    if not _may_hold(text, answer.strip()):
        return False
    pattern = rf"(?<![\w.]){re.escape(answer.strip())}(?![\w])(?!\.\d)"
    return re.search(pattern, text, 0 if exact else re.IGNORECASE) is not None


def _may_hold(text: str, answer: str) -> bool:
    """Whether it is worth to look closer: every answer has a pattern of its own, and to compile one takes longest."""
    if text.isascii() and answer.isascii():
        return bool(answer) and answer.lower() in text.lower()
    return bool(answer)  # what is one letter in another case is less plain beyond ASCII


def prints_formula(observation: str) -> bool:
    """Whether the text spells out an equation with letters on both sides and an operator, as ``F = m * a``."""
    return _FORMULA.search(observation) is not None


def check_hint(
    hint: str, answers: Sequence[str], openings: Sequence[str] = (), hidden: Iterable[str] = ()
) -> list[Finding]:
    """Findings on a hint.

    Args:
        hint: the text that is appended to the first observation.
        answers: what the oracle ended with, one for each seed. Words and numbers that a hint may well use by chance
            (one digit, or a word that every opening shows) count only behind a mark.
        openings: the first observation of each seed: what the player knows anyway is no leak.
        hidden: concrete values that the player has to look up (tool use: ids, paths, amounts).
    """
    return list(_hint_findings(hint, answers, openings, hidden))


def _hint_findings(
    hint: str, answers: Sequence[str], openings: Sequence[str], hidden: Iterable[str]
) -> Iterator[Finding]:
    if (words := len(hint.split())) > HINT_WORDS:
        yield Finding("ENV506", f"the hint has {words} words, more than {HINT_WORDS}")
    distinct = sorted({answer.strip() for answer in answers if answer.strip()})
    named = [answer for answer in distinct if _telling(answer, openings) and mentions(hint, answer)]
    if len(named) == len(distinct) > 1:
        named = []  # a list of the possible answers ("yes or no") is a format, not a leak
    leaked = [answer for answer in distinct if marked(hint, answer)] + named
    if leaked:
        yield Finding("ENV503", f"the hint contains the answer {leaked[0]!r:.60}")
    shown = "\n".join(openings)
    values = sorted({value.strip() for value in hidden if len(value.strip()) > 1} - set(leaked))
    if found := [value for value in values if mentions(hint, value, exact=True) and not mentions(shown, value)]:
        yield Finding("ENV504", f"the hint contains the value {found[0]!r:.60}, which has to be looked up")


def _telling(answer: str, openings: Sequence[str]) -> bool:
    """Whether an answer in a hint can only be the answer: not a digit, nor a word of the task itself."""
    return len(answer.strip("-")) > 1 and not any(mentions(opening, answer) for opening in openings)
