"""The single-turn suites: one message, one reply, one grade."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from spadework.evals.records import Item, Outcome, Setting, tries
from spadework.policies.base import Message, Policy, SamplingParams
from spadework.types import Key

KEPT = 4_000
"""Characters of a reply's end that a result keeps."""


@dataclass(frozen=True, slots=True)
class Question:
    """One problem. ``data`` is what its grader wants to know."""

    id: str
    group: str = ""
    data: Any = None


@dataclass(frozen=True, slots=True)
class Grade:
    """What a reply is worth, and the answer that was read from it."""

    score: float
    answer: str = ""
    detail: dict[str, Any] = field(default_factory=dict)


async def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class QuestionSuite:
    """A ``Benchmark`` of questions that are asked once a try.

    Args:
        setting: see ``Benchmark``.
        sampling: of each reply.
        trials: tries at each question; ``pose`` is told which.
        questions: all of them.
        pose: the prompt of a question at a try (which may shuffle).
        grade: judges a whole reply to it; raises ``FaultError``.
        end: lets go of what ``grade`` used.
    """

    setting: Setting
    sampling: SamplingParams
    trials: int
    questions: Sequence[Question]
    pose: Callable[[Question, int], Awaitable[str]]
    grade: Callable[[Question, int, str], Awaitable[Grade]]
    end: Callable[[], Awaitable[None]] = _nothing

    def items(self) -> list[Item]:
        """Every try at every question, the tries of one beside each other."""
        return [item for one in self.questions for item in tries(one.id, one.group, self.trials)]

    async def score(self, policy: Policy, item: Item, key: Key) -> Outcome:
        """Ask and grade; a reply cut by the token limit is graded as far as it goes."""
        question, trial = self.find(item)
        chat = policy.chat([Message(role="user", content=await self.pose(question, trial))])
        completion = await chat.reply(self.sampling, key)
        grade = await self.grade(question, trial, completion.text)
        detail = {"finish": completion.finish_reason, "reply": completion.text[-KEPT:], **grade.detail}
        return Outcome(grade.score, grade.answer, len(completion.tokens), detail)

    def find(self, item: Item) -> tuple[Question, int]:
        """The question and the try that an item stands for."""
        place = next(place for place, question in enumerate(self.questions) if question.id == item.unit)
        return self.questions[place], 0 if self.trials == 1 else int(item.id.rpartition("#")[2])

    async def close(self) -> None:
        """See ``Benchmark``."""
        await self.end()
