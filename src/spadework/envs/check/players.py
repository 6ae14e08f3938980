"""Scripted players of one session: what the runtime check plays a program with, and the record of each play."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from spadework.envs.domain import Dialogue, Domain
from spadework.envs.sandbox.base import Script, Session, Step, act
from spadework.errors import ProgramError
from spadework.types import WIN

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_WORD = re.compile(r"[A-Za-z][A-Za-z_-]*")
_MARKED = re.compile(
    r"(?:answer|solution|secret|correct|key)\w{0,20}\W{0,3}(?:is|was|=|:)\s{0,3}\W?([\w.,/ -]{1,200})",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Play:
    """One episode: what was said and what came back."""

    seed: int
    opening: str
    actions: tuple[str, ...]
    steps: tuple[Step, ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    """Schemas that the player was given."""

    @property
    def done(self) -> bool:
        """Whether the program ended the episode."""
        return bool(self.steps) and self.steps[-1].done

    @property
    def win(self) -> bool:
        """Whether the program ended the episode by paying a win."""
        return bool(self.steps) and self.steps[-1].terminated and self.steps[-1].reward >= WIN

    @property
    def transcript(self) -> tuple[object, ...]:
        """All that a player could see, comparable."""
        steps = ((step.observation, step.reward, step.terminated, step.truncated) for step in self.steps)
        return (self.opening, *steps)


async def recite(session: Session, scripts: Sequence[Script]) -> list[Play]:
    """Play ``scripts`` one after the other. Raises ``ProgramError`` with a note of the action that it fell over."""
    return [
        Play(seed, opening.observation, tuple(actions[: len(steps)]), tuple(steps), tuple(session.tools))
        for (seed, actions), (opening, *steps) in zip(scripts, await session.play(scripts), strict=True)
    ]


async def solve(session: Session, shadow: Session, seeds: Sequence[int], domain: Domain, turns: int) -> list[Play]:
    """``oracle`` on each of ``seeds``, with one request for all plays.

    What ``solution()`` says is found by playing in ``shadow`` alone. Where that ends and the play does not, because
    ``solution()`` itself changes the game, the seed is played again step by step.
    """
    plays = await recite(session, [(seed, await _advice(shadow, seed, domain, turns)) for seed in seeds])
    return [
        each if each.done or len(each.steps) >= turns else await oracle(session, shadow, each.seed, domain, turns)
        for each in plays
    ]


async def _advice(shadow: Session, seed: int, domain: Domain, turns: int) -> list[str]:
    await shadow.reset(seed)
    actions: list[str] = []
    while len(actions) < turns:
        actions.append(domain.dialogue.encode(await _solution(shadow, first=not actions)))
        if (await act(shadow, actions[-1])).done:
            break
    return actions


async def _solution(shadow: Session, *, first: bool) -> str:
    answer = await shadow.call("solution")
    if answer is None and first:
        raise ProgramError("ENV204", "solution() gave nothing")
    if not isinstance(answer, str | int | float) or isinstance(answer, bool) or answer == "":
        raise ProgramError("ENV407", f"solution() gave {answer!r:.80}, not text")
    return str(answer)


async def oracle(
    session: Session,
    shadow: Session,
    seed: int,
    domain: Domain,
    turns: int,
    slip: Callable[[str], str] | None = None,
) -> Play:
    """Play ``solution()``, read from ``shadow``: another instance with the same seed and the same past actions.

    ``slip`` makes something else of its actions now and then.

    Raises ``ProgramError``: ENV204 where there is no ``solution`` or it gives ``None`` at once, ENV407 where it gives
    something else than text.
    """
    opening = await session.reset(seed)
    await shadow.reset(seed)
    actions: list[str] = []
    steps: list[Step] = []
    while len(steps) < turns:
        action = domain.dialogue.encode(await _solution(shadow, first=not steps))
        actions.append(slip(action) if slip else action)
        steps.append(replace(await act(session, actions[-1]), info={}))
        if steps[-1].done:
            break
        await act(shadow, actions[-1])
    return Play(seed, opening.observation, tuple(actions), tuple(steps), tuple(session.tools))


def difference(before: Play, again: Play) -> str:
    """The first place in which two plays of one script differ, in words."""
    for turn, (one, other) in enumerate(zip(before.transcript, again.transcript, strict=False)):
        if one != other:
            return f"turn {turn} gave {one!r:.80} and then {other!r:.80}"
    return f"{len(before.steps)} turns and then {len(again.steps)}"


def scribbles(rng: random.Random, opening: str, turns: int, dialogue: Dialogue) -> list[str]:
    """So many times something that stands in the first observation, or a small number, a letter or a yes."""
    text = _ends(opening)
    numbers, words = _NUMBER.findall(text), _WORD.findall(text)
    weights = (8 * bool(numbers), 5 * bool(words), 4, 1, 2)
    said = []
    for _ in range(turns):
        pools: list[Sequence[str]] = [numbers, words, [str(rng.randint(0, 20))], "ABCD", ("yes", "no", "true", "false")]
        said.append(dialogue.encode(rng.choice(rng.choices(pools, weights)[0])))
    return said


def _ends(text: str) -> str:
    """A text whose middle is left out when it is long: no more is looked at on every turn of every play."""
    return text if len(text) <= 4000 else f"{text[:2000]}\n{text[-2000:]}"


def guesses(rng: random.Random, answers: Sequence[str], turns: int) -> list[str]:
    """What the oracle said somewhere else: those of a player who knows the answers' distribution and not the task."""
    return [rng.choice(answers) for _ in range(turns)]


def last_number(observation: str) -> str | None:
    """The last number of an observation."""
    found = _NUMBER.findall(_ends(observation))
    return found[-1] if found else None


def first_number(observation: str) -> str | None:
    """The first number of an observation."""
    found = _NUMBER.search(_ends(observation))
    return found.group() if found else None


def last_word(observation: str) -> str | None:
    """The last word of an observation."""
    found = _WORD.findall(_ends(observation))
    return found[-1] if found else None


def last_quoted(observation: str) -> str | None:
    """The last thing in quotes, brackets or bold type of an observation."""
    found = re.findall(r"['\"`*(\[]([^'\"`*()\[\]]{1,60})['\"`*)\]]", _ends(observation))
    return found[-1].strip() if found else None


def after_mark(observation: str) -> str | None:
    """What follows a word such as ``answer`` and a mark such as ``:``."""
    found = _MARKED.findall(_ends(observation))
    return found[-1].strip(" .,") if found else None


COPIERS = (after_mark, last_number, first_number, last_quoted, last_word)
"""Ways to copy an answer out of an observation."""
