"""The protocols of a model: ``Policy`` samples, ``Trainer`` learns, and ``Chat`` is one conversation with a policy.

The method works with conversations and not with token prompts. So an engine with token ids can append what it sampled
and never tokenises a history again, while an endpoint that only takes text can still design, play and rank. An endpoint
satisfies ``Policy`` and not ``Trainer``: code that would train a frozen model does not type-check.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from spadework import types
from spadework.policies.thinking import Thinking
from spadework.text import clean
from spadework.types import Key, Segment
from spadework.types import Message as Message

FinishReason = Literal["stop", "length"]
Metrics = dict[str, float]


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

        ``key`` seeds the sampling, so the same key, history and weights give the same reply. A vLLM or SGLang server
        is sent no seed and promises no such thing.
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
class RoleStep:
    """The optimiser step that the rows of one role take by themselves."""

    role: str
    lr: float
    kl_coef: float = 0.0


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """Settings of one update (method section 8).

    The loss of one optimiser step is a plain sum over the tokens t of its rows that the loss mask selects:

        - sum_t w_t min(r_t A_t, clip(r_t, 1 - clip_low, 1 + clip_high) A_t)
        + (kl_coef sum_t k_t - entropy_coef sum_t H_t) / M

    The caller normalises the first term through the advantages A (see ``types.TrainingRow``). The second is a mean over
    the M tokens: k_t estimates the KL divergence to the start model, and H_t is the entropy at token t. The importance
    weight w, the ratio r and k are those of ``policies.local.training.losses``.
    """

    lr: float = 1e-6
    clip_low: float = 0.2
    clip_high: float = 0.28
    importance_cap: float = 2.0
    ratio: Literal["token", "sequence"] = "token"
    """Whether r and w belong to a token, or are geometric means over the tokens of a row (GSPO)."""
    kl_coef: float = 0.0
    kl_rows: Literal["trained", "all"] = "trained"
    """Whether rows whose advantages are all 0 count in the KL and entropy terms, and in M."""
    entropy_coef: float = 0.0
    grad_clip: float = 1.0
    betas: tuple[float, float] = (0.9, 0.98)
    weight_decay: float = 0.1
    epochs: int = 1
    minibatches: int = 1
    role_steps: tuple[RoleStep, ...] = ()
    """Optimiser steps to take one after the other, each over the rows of its role, with its own moments and its own
    gradient clipping. Their ``lr`` and ``kl_coef`` replace those above. Empty: one step takes all rows."""


@runtime_checkable
class Trainer(Protocol):
    """Weights that learn."""

    @property
    def caps(self) -> Caps:
        """What this engine can do."""
        ...

    async def train(self, batch: Sequence[types.TrainingRow], hp: Hyperparameters) -> Metrics:
        """Make one update by the clipped policy-gradient loss of ``Hyperparameters``. Raises ``PolicyError``."""
        ...

    async def fit(self, batch: Sequence[types.TrainingRow], hp: Hyperparameters) -> Metrics:
        """Make one update by cross-entropy on the loss mask, weighted by ``advantages`` (supervised warm-up).

        One optimiser step takes all rows, whatever ``hp.role_steps`` says.
        """
        ...

    async def sync(self) -> Policy:
        """Give the policy the trained weights; its version grows by one."""
        ...

    def save(self, path: Path) -> None:
        """Write weights, moments and the policy's version into the folder ``path``."""
        ...

    def export(self, path: Path) -> None:
        """Write the weights as a model folder that the engine's loader opens (Hugging Face format)."""
        ...

    def load(self, path: Path) -> None:
        """Continue from what ``save`` wrote; the next update equals that of an unbroken run."""
        ...
