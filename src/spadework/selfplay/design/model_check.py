"""The model check (method section 4, stage 7): can every criterion be met by some tool?

The policy judges. A program with an ``impossible`` criterion is rejected, one with a ``hard`` criterion is kept. A
verdict that is empty or cannot be read accepts nothing: it is asked for again, and after the last try it is a fault of
the grader.
"""

from __future__ import annotations

import re

from spadework.config import ValidationSection
from spadework.envs.actions import strip_thinking
from spadework.envs.domain import Domain
from spadework.errors import GraderError
from spadework.policies.base import Policy, SamplingParams
from spadework.selfplay.design.prompts import model_check_messages
from spadework.types import Key

_COUNT = re.compile(r"^\W*criteria\W+(\d+)\W*$", re.IGNORECASE | re.MULTILINE)
_LINE = re.compile(r"^\W*(?:criterion\s+)?(\d+)\W+(possible|hard|impossible)\b", re.IGNORECASE | re.MULTILINE)


class ModelCheck:
    """Lets the policy judge a program of a domain whose briefing has a ``model_check`` prompt."""

    def __init__(self, settings: ValidationSection, domain: Domain) -> None:
        self.settings, self.domain = settings, domain

    async def __call__(self, policy: Policy, source: str, key: Key) -> tuple[str, ...]:
        """The reasons for rejecting the program; empty when every criterion can be met.

        Raises:
            GraderError: no try gave a verdict that could be parsed.
            PolicyError: the policy gave no reply.
        """
        messages = model_check_messages(self.domain, source)
        params = SamplingParams(self.settings.model_check_tokens)
        for attempt in range(self.settings.model_check_attempts):
            completion = await policy.chat(messages).reply(params, (*key, attempt))
            verdict = read_verdict(completion.text) if completion.finish_reason == "stop" else None
            if verdict is not None:
                return tuple(
                    f"MODEL criterion {number} cannot be met by any tool"
                    for number, word in enumerate(verdict, 1)
                    if word == "impossible"
                )
        raise GraderError("MODEL", f"no verdict that can be read in {self.settings.model_check_attempts} tries")


def read_verdict(reply: str) -> tuple[str, ...] | None:
    r"""One word a criterion: ``possible``, ``hard`` or ``impossible``; ``None`` for what cannot be read.

    A verdict says how many criteria there are, at least one, and one word for each in order: a reply that breaks off,
    skips one or contradicts itself is none.

    >>> read_verdict("Criteria: 2\\n1: possible\\n2: hard, but by two calls")
    ('possible', 'hard')
    """
    text = strip_thinking(reply)
    counts = list(_COUNT.finditer(text))
    if not counts:
        return None
    lines = _LINE.findall(text[counts[-1].end() :])
    numbers, words = [int(number) for number, _ in lines], tuple(word.lower() for _, word in lines)
    return words if numbers and numbers == list(range(1, int(counts[-1].group(1)) + 1)) else None
