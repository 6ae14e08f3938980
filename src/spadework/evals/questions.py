"""``QuestionSuite``, the benchmark behind all single-turn suites: one prompt, one reply, one grade."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from spadework.evals.records import Item, Outcome, Setting, tries
from spadework.policies.base import Message, Policy, SamplingParams
from spadework.types import Key

KEPT = 4_000
"""How many characters, counted from the end of a reply, a result keeps."""


@dataclass(frozen=True, slots=True)
class Question:
    """One problem. ``data`` holds what the prompt and the grader need."""

    id: str
    group: str = ""
    data: Any = None


@dataclass(frozen=True, slots=True)
class Grade:
    """The score of a reply, and the answer that was extracted from it."""

    score: float
    answer: str = ""
    detail: dict[str, Any] = field(default_factory=dict)


async def _no_cleanup() -> None:
    pass


@dataclass(frozen=True, slots=True)
class QuestionSuite:
    """A ``Benchmark`` of questions, each of which is asked once per try.

    Args:
        setting: see ``Benchmark``.
        sampling: the sampling parameters of each reply.
        trials: the number of tries at each question.
        questions: all questions of the suite.
        pose: makes the prompt of a question for the try with this number (choices may be shuffled by it).
        grade: grades the reply to a question at a try; raises ``FaultError``.
        end: releases what ``grade`` holds, such as processes.
    """

    setting: Setting
    sampling: SamplingParams
    trials: int
    questions: Sequence[Question]
    pose: Callable[[Question, int], Awaitable[str]]
    grade: Callable[[Question, int, str], Awaitable[Grade]]
    end: Callable[[], Awaitable[None]] = _no_cleanup

    def items(self) -> list[Item]:
        """Every try at every question; the tries at one question follow each other."""
        return [item for one in self.questions for item in tries(one.id, one.group, self.trials)]

    async def score(self, policy: Policy, item: Item, key: Key) -> Outcome:
        """Ask and grade. A reply that was cut off by the token limit is graded as it is."""
        question, trial = self.find(item)
        chat = policy.chat([Message(role="user", content=await self.pose(question, trial))])
        completion = await chat.reply(self.sampling, key)
        grade = await self.grade(question, trial, completion.text)
        detail = {"finish": completion.finish_reason, "reply": completion.text[-KEPT:], **grade.detail}
        return Outcome(grade.score, grade.answer, len(completion.tokens), detail)

    def find(self, item: Item) -> tuple[Question, int]:
        """The question of an item, and the number of the try."""
        place = next(place for place, question in enumerate(self.questions) if question.id == item.unit)
        return self.questions[place], 0 if self.trials == 1 else int(item.id.rpartition("#")[2])

    async def close(self) -> None:
        """See ``Benchmark``."""
        await self.end()
