"""The shipped fake: a policy that answers from a function and a trainer that records what it is given.

Token ids are UTF-8 bytes, and bytes that UTF-8 never uses mark the turns, so everything above (chats, masks, sequences,
stores) runs on it as on a real engine, in seconds and without torch.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spadework import types
from spadework.policies.base import Caps, Completion, Hyperparameters, Message, Metrics, SamplingParams
from spadework.policies.chat import TokenChat
from spadework.policies.thinking import Thinking, Thought
from spadework.text import clean
from spadework.types import Key, derive_seed

Script = Callable[[Sequence[Message], random.Random, int], str]
"""(messages so far, generator of this request, policy version) -> reply; a prefill is a last assistant message."""

ROLES = ("system", "user", "assistant", "tool")
FIRST_ROLE = 0xF8
END = FIRST_ROLE + len(ROLES)


class ByteTemplate:
    """A reversible chat template over bytes: a role mark, the content, an end mark."""

    stop_tokens = frozenset({END})

    @property
    def thought(self) -> Thought:
        """The texts around a thought; the prompt opens none."""
        return Thought("", "<think>\n", "\n</think>\n\n")

    def switched(self, thinking: Thinking) -> ByteTemplate:
        """Itself: there is no switch."""
        return self

    def marks(self, text: str) -> tuple[int, ...]:
        """Bytes of a text."""
        return tuple(text.encode())

    def opening(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], prefill: str) -> tuple[int, ...]:
        """Ids of the messages, the assistant's mark and ``prefill``."""
        rendered = [token for message in messages for token in self._render(message)]
        return (*rendered, FIRST_ROLE + ROLES.index("assistant"), *prefill.encode())

    def continuation(
        self, history: Sequence[Message], added: Sequence[Message], tools: Sequence[Mapping[str, Any]]
    ) -> tuple[int, ...]:
        """Ids after a reply: its end mark, the added messages, the assistant's mark."""
        return (END, *self.opening(added, tools, ""))

    def reply(self, text: str) -> tuple[int, ...]:
        """Ids of a whole reply."""
        return (*text.encode(), END)

    def decode(self, tokens: Sequence[int]) -> str:
        """Text of the ids, marks left out."""
        return bytes(tokens).translate(None, _MARKS).decode(errors="replace")

    def parse(self, tokens: Sequence[int]) -> list[Message]:
        """The messages again; an open assistant turn stands last when it has content."""
        messages = [
            Message(role=ROLES[mark[0] - FIRST_ROLE], content=content.decode(errors="replace"))  # type: ignore[typeddict-item]
            for mark, content in _MESSAGES.findall(bytes(tokens))
        ]
        return messages if messages[-1]["content"] else messages[:-1]

    def _render(self, message: Message) -> tuple[int, ...]:
        return (FIRST_ROLE + ROLES.index(message["role"]), *message["content"].encode(), END)


_MARKS = bytes(range(FIRST_ROLE, END + 1))
_MESSAGES = re.compile(rb"([%b])([^%b]*)%b?" % (_MARKS[:-1], _MARKS, _MARKS[-1:]))


class ScriptedPolicy:
    """Answers from a script. Satisfies ``Policy`` and, for ``TokenChat``, the sampler's protocol."""

    def __init__(self, script: Script, run_seed: int = 0) -> None:
        self.script, self.run_seed, self.version = script, run_seed, 0
        self.template = ByteTemplate()

    def chat(
        self, messages: Sequence[Message], *, tools: Sequence[Mapping[str, Any]] = (), prefill: str = ""
    ) -> TokenChat:
        """Open a conversation."""
        return TokenChat(self, self.template, messages, tools=tools, prefill=prefill)

    async def sample(self, tokens: Sequence[int], params: SamplingParams, key: Key) -> Completion:
        """Ask the script; the reply is cut at ``max_tokens`` bytes."""
        rng = random.Random(derive_seed(self.run_seed, *key))
        text = clean(self.script(self.template.parse(tokens), rng, self.version))
        ids = (*text.encode(), END)
        cut = ids[: params.max_tokens]
        return Completion(
            text=self.template.decode(cut),
            tokens=cut,
            logprobs=(-0.5,) * len(cut),
            finish_reason="stop" if len(cut) == len(ids) else "length",
            policy_version=self.version,
        )

    @contextmanager
    def attend(self) -> Iterator[None]:
        """Answers depend on the key alone: nobody has to wait for anybody."""
        yield

    def count_tokens(self, text: str) -> int:
        """Bytes."""
        return len(text.encode())

    async def close(self) -> None:
        """Nothing to close."""


class ScriptedTrainer:
    """Keeps every batch in ``batches`` and counts versions."""

    caps = Caps(token_ids=True, logprobs=True, fit=True, reference_kl=True, deterministic=True)

    def __init__(self, policy: ScriptedPolicy) -> None:
        self.policy = policy
        self.batches: list[tuple[types.TrainingRow, ...]] = []

    async def train(self, batch: Sequence[types.TrainingRow], hp: Hyperparameters) -> Metrics:
        """Record the batch."""
        self.batches.append(tuple(batch))
        return {"tokens": float(sum(sum(row.loss_mask) for row in batch))}

    async def fit(self, batch: Sequence[types.TrainingRow], hp: Hyperparameters) -> Metrics:
        """Record the batch; a script has nothing to be wrong by."""
        return {**await self.train(batch, hp), "loss": 0.0}

    async def sync(self) -> ScriptedPolicy:
        """The same policy, a version older."""
        self.policy.version += 1
        return self.policy

    def save(self, path: Path) -> None:
        """Write the version."""
        (path / "scripted.json").write_text(json.dumps({"version": self.policy.version}))

    def load(self, path: Path) -> None:
        """Read the version."""
        self.policy.version = int(json.loads((path / "scripted.json").read_text())["version"])

    def export(self, path: Path) -> None:
        """There are no weights: the version again."""
        path.mkdir(parents=True, exist_ok=True)
        self.save(path)
