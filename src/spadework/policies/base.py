"""The seams of a model: ``Policy`` speaks, ``Trainer`` learns, ``Chat`` is one conversation.

A conversation, not a bare token prompt, is what the rest of the house holds: an engine with token ids appends what it
sampled and never re-renders a history, and an endpoint that only takes text can still design, play and rank. An
endpoint satisfies ``Policy`` and not ``Trainer``, so training a frozen model does not type-check.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NotRequired, Protocol, TypedDict, runtime_checkable

from spadework import types
from spadework.policies.thinking import Thinking
from spadework.text import clean
from spadework.types import Key, Segment

FinishReason = Literal["stop", "length"]
Metrics = dict[str, float]


class Message(TypedDict):
    """A chat message in the form that chat templates take."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    name: NotRequired[str]


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How to sample one reply. ``stop`` strings end it and stay in it; ``grammar`` is a Lark grammar that binds it.

    Where ``thinking`` is a number, that many tokens are for the thought, and ``max_tokens`` bounds the answer alone.
    Otherwise ``max_tokens`` bounds both together.
    """

    max_tokens: int
    temperature: float = 0.6
    top_p: float = 1.0
    top_k: int = 0
    stop: tuple[str, ...] = ()
    grammar: str | None = None
    thinking: Thinking = None


@dataclass(frozen=True, slots=True)
class Completion:
    """A sampled reply. ``logprobs`` are those of the distribution that the tokens were drawn from, one a token.

    Its text has passed ``text.clean``, whatever policy it comes from.
    """

    text: str
    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]
    finish_reason: FinishReason
    policy_version: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", clean(self.text))


class Chat(Protocol):
    """One conversation, from its opening messages on."""

    async def reply(self, params: SamplingParams, key: Key) -> Completion:
        """Sample the assistant's next message and append it. Raises ``PolicyError``.

        ``key`` seeds the draw, so the same key, history and weights give the same reply.
        """
        ...

    def observe(self, message: Message) -> None:
        """Append a message of someone else; the assistant speaks next."""
        ...

    def say(self, text: str) -> None:
        """Append a whole assistant message that was given, not sampled, as if sampled with log-probability 0.

        Its tokens and end-of-turn token stand in ``segments`` with a true loss mask: rows for ``Trainer.fit``.
        """
        ...

    @property
    def length(self) -> int:
        """Tokens so far (an estimate where the engine gives none)."""
        ...

    @property
    def segments(self) -> tuple[Segment, ...]:
        """The token record so far; empty for an engine without token ids."""
        ...


@runtime_checkable
class Policy(Protocol):
    """A model that can be talked to."""

    @property
    def version(self) -> int:
        """Grows by one with every update of the weights."""
        ...

    def chat(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        prefill: str = "",
    ) -> Chat:
        """Open a conversation. ``prefill`` begins the assistant's first message; it is prompt, not sampled."""
        ...

    def attend(self) -> AbstractContextManager[None]:
        """While inside, a deterministic engine waits for the caller's next request before it starts a batch.

        Batches then depend on who takes part and never on who was quick. Elsewhere it does nothing.
        """
        ...

    def count_tokens(self, text: str) -> int:
        """Length of a text in tokens (an estimate where the engine gives none)."""
        ...

    async def close(self) -> None:
        """Let go of threads, connections and memory."""
        ...


@runtime_checkable
class Metered(Protocol):
    """A policy that counts what it asks of others."""

    def take_metrics(self) -> Metrics:
        """Counts since the last time, by metric name."""
        ...


@runtime_checkable
class Dropping(Protocol):
    """A policy that asks on without what its server refuses."""

    @property
    def dropped(self) -> tuple[str, ...]:
        """Fields that were asked for and that no request holds any more."""
        ...


@dataclass(frozen=True, slots=True)
class Caps:
    """What an engine can do; asked before a run starts, so that nothing fails halfway."""

    token_ids: bool
    logprobs: bool
    fit: bool
    reference_kl: bool
    deterministic: bool


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """Of one update (method section 8). The objective is a plain sum over tokens; see ``types.TrainingRow``."""

    lr: float = 1e-6
    clip_low: float = 0.2
    clip_high: float = 0.28
    importance_cap: float = 2.0
    kl_coef: float = 0.0
    grad_clip: float = 1.0
    betas: tuple[float, float] = (0.9, 0.98)
    weight_decay: float = 0.1
    epochs: int = 1
    minibatches: int = 1


@runtime_checkable
class Trainer(Protocol):
    """Weights that learn."""

    @property
    def caps(self) -> Caps:
        """What this engine can do."""
        ...

    async def train(self, batch: Sequence[types.TrainingRow], hp: Hyperparameters) -> Metrics:
        """One update by the clipped policy-gradient objective. Raises ``PolicyError``."""
        ...

    async def fit(self, batch: Sequence[types.TrainingRow], hp: Hyperparameters) -> Metrics:
        """One update by cross-entropy on the loss mask, weighted by ``advantages`` (supervised warm-up)."""
        ...

    async def sync(self) -> Policy:
        """Make the policy speak with the trained weights; its version grows by one."""
        ...

    def save(self, path: Path) -> None:
        """Write weights, optimiser and generators into the folder ``path``."""
        ...

    def export(self, path: Path) -> None:
        """Write the weights as a model folder that the engine's loader opens (Hugging Face format)."""
        ...

    def load(self, path: Path) -> None:
        """Continue from what ``save`` wrote; the next update equals that of an unbroken run."""
        ...
