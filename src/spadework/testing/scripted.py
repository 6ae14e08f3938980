"""A scripted fake of model and trainer: the policy answers from a function, and the trainer records its batches.

Token ids are UTF-8 bytes, and bytes that never occur in UTF-8 mark the turns. So everything above the engine (chats,
masks, training rows, stores) runs as with a real model, in seconds and without torch.
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
"""(messages, this request's random generator, policy version) -> reply. A prefill is a final assistant message."""

ROLES = ("system", "user", "assistant", "tool")
FIRST_ROLE = 0xF8
END = FIRST_ROLE + len(ROLES)


class ByteTemplate:
    """A reversible chat template over bytes: each message is a role mark, the content and an end mark."""

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
        """The token ids of the messages, followed by the assistant's mark and ``prefill``."""
        rendered = [token for message in messages for token in self._render(message)]
        return (*rendered, FIRST_ROLE + ROLES.index("assistant"), *prefill.encode())

    def continuation(
        self, history: Sequence[Message], added: Sequence[Message], tools: Sequence[Mapping[str, Any]]
    ) -> tuple[int, ...]:
        """The token ids that follow a reply: its end mark, the added messages, and the assistant's mark."""
        return (END, *self.opening(added, tools, ""))

    def reply(self, text: str) -> tuple[int, ...]:
        """The token ids of a complete reply."""
        return (*text.encode(), END)

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of the ids, without the marks."""
        return bytes(tokens).translate(None, _MARKS).decode(errors="replace")

    def parse(self, tokens: Sequence[int]) -> list[Message]:
        """Parse ids back into messages. An unfinished assistant turn with content becomes the last message."""
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
    """A policy that answers from a script. It satisfies ``Policy`` and the sampler protocol of ``TokenChat``."""

    def __init__(self, script: Script, run_seed: int = 0) -> None:
        self.script, self.run_seed, self.version = script, run_seed, 0
        self.template = ByteTemplate()

    def chat(
        self, messages: Sequence[Message], *, tools: Sequence[Mapping[str, Any]] = (), prefill: str = ""
    ) -> TokenChat:
        """Open a conversation."""
        return TokenChat(self, self.template, messages, tools=tools, prefill=prefill)

    async def sample(self, tokens: Sequence[int], params: SamplingParams, key: Key) -> Completion:
        """Call the script; its reply is cut off at ``max_tokens`` bytes."""
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
        """Does nothing: a reply depends on its key alone, so no batch has to wait for other episodes."""
        yield

    def count_tokens(self, text: str) -> int:
        """The number of UTF-8 bytes, which are the tokens of this policy."""
        return len(text.encode())

    async def close(self) -> None:
        """Nothing to close."""


class ScriptedTrainer:
    """A trainer that stores every batch in ``batches`` and counts versions."""

    caps = Caps(token_ids=True, logprobs=True, fit=True, reference_kl=True, deterministic=True)

    def __init__(self, policy: ScriptedPolicy) -> None:
        self.policy = policy
        self.batches: list[tuple[types.TrainingRow, ...]] = []

    async def train(self, batch: Sequence[types.TrainingRow], hp: Hyperparameters) -> Metrics:
        """Record the batch."""
        self.batches.append(tuple(batch))
        return {"tokens": float(sum(sum(row.loss_mask) for row in batch))}

    async def fit(self, batch: Sequence[types.TrainingRow], hp: Hyperparameters) -> Metrics:
        """Record the batch; there is no loss, because a script has no weights."""
        return {**await self.train(batch, hp), "loss": 0.0}

    async def sync(self) -> ScriptedPolicy:
        """The same policy with its version raised by one."""
        self.policy.version += 1
        return self.policy

    def save(self, path: Path) -> None:
        """Write the version."""
        (path / "scripted.json").write_text(json.dumps({"version": self.policy.version}))

    def load(self, path: Path) -> None:
        """Read the version."""
        self.policy.version = int(json.loads((path / "scripted.json").read_text())["version"])

    def export(self, path: Path) -> None:
        """Write the version, since there are no weights."""
        path.mkdir(parents=True, exist_ok=True)
        self.save(path)
