"""The records that flow through the house, in the order in which they flow.

    corpus -> Document -> designer -> Design -> validation -> Environment -> play -> Episode -> rows -> TrainingRow

All are frozen. *Return* is what an environment paid an episode, *reward* what a role is paid, *advantage* what a token
is trained with: three words, three fields, each written once.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired, TypedDict

Arm = Literal["unhinted", "hinted", "placebo", "answer_only"]
"""Which hint stands in the first observation: none, its own, that of another environment, or what the oracle plays."""
Role = Literal["agent", "designer"]
Ending = Literal["terminated", "truncated", "token_limit", "fault"]
FaultKind = Literal["program", "sandbox", "endpoint", "grader", "model", "late"]
"""Who is to blame: the program, the sandbox, an endpoint, a grader or judge, the model in this process, the clock."""

CONTROL_ARMS: tuple[Arm, ...] = ("placebo", "answer_only")
"""Arms that tell information from leakage: reported, never paid and never trained."""

Key = tuple[int, ...]
"""Names a piece of work in a run, e.g. (cycle, stage, slot, episode, turn): it seeds the draw and orders admission."""

WIN = 1.0 - 1e-6
"""A return of at least this is a win (method section 1)."""
LEARNABLE = (0.2, 0.8)
"""Win rates between these make an environment learnable (method section 9)."""
MASTERED, HOPELESS = 0.95, 0.05
"""Win rates from which, and up to which, an environment is retired by choice (``pool.retire``)."""


class Message(TypedDict):
    """A chat message in the form that chat templates take."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    name: NotRequired[str]


def derive_seed(run_seed: int, *parts: int | str) -> int:
    """A 63-bit seed from the run's seed and what is being drawn: the only source of randomness in a run."""
    text = "/".join(str(part) for part in (run_seed, *parts))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 1


@dataclass(frozen=True, slots=True)
class Document:
    """A grounding document; ``meta`` is whatever else stood on its line of the corpus."""

    id: str
    text: str
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The title in ``meta``, else the id."""
        return str(self.meta.get("title") or self.id)


@dataclass(frozen=True, slots=True)
class Fault:
    """Something went wrong. Data, never a return: only a ``program`` fault says anything about a design."""

    kind: FaultKind
    code: str
    message: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of tokens as the policy saw and sampled them; ``loss_mask``, ``logprobs`` and ``tokens`` have one length.

    ``loss_mask`` is true on sampled tokens; ``logprobs`` are those of the sampling policy there and 0 elsewhere.
    A history that only grows is one segment; a new one begins where a chat template rewrites it or other weights speak.
    """

    tokens: tuple[int, ...]
    loss_mask: tuple[bool, ...]
    logprobs: tuple[float, ...]
    policy_version: int
    temperature: float = 1.0
    """That the tokens were sampled at: ``logprobs`` are of softmax(logits / temperature)."""

    def __post_init__(self) -> None:
        if not len(self.tokens) == len(self.loss_mask) == len(self.logprobs):
            raise ValueError(
                f"a segment's lengths differ: {len(self.tokens)} tokens, {len(self.loss_mask)} mask entries, "
                f"{len(self.logprobs)} log-probabilities"
            )

    @property
    def sampled(self) -> int:
        """How many tokens were sampled."""
        return sum(self.loss_mask)


@dataclass(frozen=True, slots=True)
class Design:
    """One attempt of the designer: a program, accepted or not, with the tokens that wrote it."""

    id: str
    cycle: int
    slot: int
    attempt: int
    skill: str
    document_id: str
    parents: tuple[str, ...]
    prompt: str
    """What the designer was told, as text for people."""
    reply: str
    source: str
    segments: tuple[Segment, ...]
    findings: tuple[str, ...]
    """Why it was rejected, as ``CODE message``; empty when it was accepted."""
    repaired: bool = False
    """Accepted only after its text was mended: trains with a raw reward of 0 (method section 7)."""
    environment_id: str | None = None
    ran: bool = False
    """Whether the program could be constructed, reset and stepped."""
    fault: Fault | None = None
    """A fault of sandbox, endpoint or grader: then the attempt says nothing about the designer."""
    variant: str = ""
    """Which variant of its domain's tasks was asked for; empty in a domain without variants."""
    novelty: float | None = None
    """1 minus the cosine with the nearest program written before; ``None`` where nobody measures it."""
    hint_segments: tuple[Segment, ...] = ()
    """The tokens that wrote the hint of an accepted design."""

    @property
    def accepted(self) -> bool:
        """Whether it became an environment."""
        return self.environment_id is not None


@dataclass(frozen=True, slots=True)
class Environment:
    """An accepted program with its hint and where it came from."""

    id: str
    source: str
    hint: str
    skill: str
    domain: str
    """The name that finds its domain (``envs.registry.find_domain``)."""
    document_id: str
    cycle: int
    designer_version: int
    parents: tuple[str, ...] = ()
    design_id: str | None = None
    """The design that wrote it; none for bundled and imported environments."""

    @property
    def sha256(self) -> str:
        """Of the source."""
        return hashlib.sha256(self.source.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Turn:
    """One exchange: what the agent saw, all that it said, what the environment got of it, and what that paid."""

    observation: str
    reply: str
    action: str
    reward: float
    malformed: bool = False
    """The reply held no action, or a tool call that could not be read."""


@dataclass(frozen=True, slots=True)
class Episode:
    """One play of one environment in one arm. Episode ``index`` of either arm resets with the same ``seed``."""

    id: str
    cycle: int
    environment_id: str
    arm: Arm
    index: int
    seed: int
    turns: tuple[Turn, ...]
    segments: tuple[Segment, ...]
    ending: Ending
    return_: float
    """NaN when a fault ended the episode: it enters no mean."""
    last_observation: str = ""
    fault: Fault | None = None

    @property
    def valid(self) -> bool:
        """Whether no fault ended it."""
        return self.fault is None

    @property
    def win(self) -> bool:
        """Whether it paid a win."""
        return self.return_ >= WIN

    @property
    def group_id(self) -> str:
        """Names its group: cycle, environment and arm."""
        return f"{self.cycle}/{self.environment_id}/{self.arm}"


@dataclass(frozen=True, slots=True)
class Group:
    """The episodes of one environment and arm in one cycle."""

    environment_id: str
    arm: Arm
    episodes: tuple[Episode, ...]

    @property
    def valid(self) -> tuple[Episode, ...]:
        """The episodes without a fault."""
        return tuple(episode for episode in self.episodes if episode.valid)

    @property
    def returns(self) -> tuple[float, ...]:
        """Returns of the valid episodes."""
        return tuple(episode.return_ for episode in self.valid)

    @property
    def mean_return(self) -> float:
        """Mean over valid episodes; NaN without any."""
        returns = self.returns
        return sum(returns) / len(returns) if returns else math.nan

    @property
    def win_rate(self) -> float:
        """Wins over valid episodes; NaN without any."""
        valid = self.valid
        return sum(episode.win for episode in valid) / len(valid) if valid else math.nan


@dataclass(frozen=True, slots=True)
class TrainingRow:
    """One training row. All a trainer sees: it is blind to roles, rewards and groups.

    Every normalisation is folded into ``advantages`` (one a token, 0 where ``loss_mask`` is false): the trainer takes
    the plain *sum* over tokens of the clipped ratio times the advantage.
    """

    tokens: tuple[int, ...]
    loss_mask: tuple[bool, ...]
    logprobs: tuple[float, ...]
    advantages: tuple[float, ...]
    role: Role
    group_id: str
    source_id: str
    """The episode or design it came from."""
    policy_version: int
    temperature: float = 1.0
    """That the tokens were sampled at: the ratio is of softmax(logits / temperature), then and now."""

    def __post_init__(self) -> None:
        lengths = {len(self.tokens), len(self.loss_mask), len(self.logprobs), len(self.advantages)}
        if len(lengths) != 1:
            raise ValueError(
                f"training row of {self.source_id}: its columns have {sorted(lengths)} entries, not one length"
            )


def plain(record: Any) -> Any:
    """A record as plain data. Tuples of numbers stay as they are: ``dataclasses.asdict`` would copy every token."""
    if isinstance(record, tuple) and record and dataclasses.is_dataclass(record[0]):
        return [plain(item) for item in record]
    if dataclasses.is_dataclass(record):
        return {field.name: plain(getattr(record, field.name)) for field in dataclasses.fields(record)}
    return record
