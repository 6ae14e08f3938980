"""Hints: the model writes one from its program; a hint that leaks the answer is written again (method section 5)."""

from __future__ import annotations

from collections.abc import Sequence

from spadework.config import HintSection
from spadework.envs.actions import strip_thinking
from spadework.envs.check.findings import fatal
from spadework.envs.check.program import hint_findings
from spadework.envs.domain import Domain
from spadework.policies.base import Message, Policy, SamplingParams
from spadework.selfplay.design.prompts import hint_messages
from spadework.selfplay.records import Hint, JudgedProgram
from spadework.types import Key


class HintWriter:
    """Lets a policy write hints and checks them."""

    def __init__(self, settings: HintSection, domain: Domain) -> None:
        self.settings, self.domain = settings, domain

    async def __call__(
        self, policy: Policy, source: str, judged: JudgedProgram, key: Key, history: Sequence[Message] = ()
    ) -> Hint | None:
        """Write a hint that leaks nothing; ``None`` when every try leaked or was empty. Raises ``PolicyError``."""
        settings = self.settings
        params = SamplingParams(settings.max_tokens, temperature=settings.temperature, thinking=settings.thinking)
        messages = hint_messages(self.settings, self.domain, source, history)
        for attempt in range(self.settings.attempts):
            chat = policy.chat(messages)
            completion = await chat.reply(params, (*key, attempt))
            hint = clean_hint(completion.text, self.settings.max_words)
            if hint and not self._leaks(hint, judged):
                return Hint(hint, chat.segments)
        return None

    def _leaks(self, hint: str, judged: JudgedProgram) -> bool:
        """Whether the hint holds the answer or a value that the agent has to find out."""
        return judged.report is not None and bool(fatal(hint_findings(hint, judged.report, self.domain)))


def clean_hint(reply: str, max_words: int) -> str:
    """The first paragraph of a reply, without thinking, label and quotes, cut to ``max_words``; it may be empty."""
    text = strip_thinking(reply).strip()
    paragraph = text.split("\n\n", 1)[0].strip()
    paragraph = paragraph.removeprefix("HINT:").removeprefix("Hint:").strip().strip('"').strip()
    return " ".join(paragraph.split()[:max_words])
