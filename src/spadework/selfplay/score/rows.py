"""From scored episodes and designs to training rows, with every normalisation folded into the advantages.

The trainer takes a plain sum over tokens. A row's token advantage is its sample's advantage over (N x a length), where
N counts the samples of the batch. ``update.average`` chooses the length: by default the mean length of the role, which
makes the loss a mean over the tokens of each role. Between the roles the shares go by their number of samples, which
``payment.role_scale`` evens out.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from spadework.config import AgentSection
from spadework.errors import RunError
from spadework.types import Arm, Episode, Group, Role, Segment
from spadework.types import TrainingRow as Row

Advantage = Callable[[Sequence[float], Sequence[int]], Sequence[float]]
"""Returns and seeds of a group -> the advantage of each episode, all 0 for a group that carries no gradient."""
Average = Callable[[Sequence[int]], Sequence[float]]
"""Sampled tokens of each sample of a role -> the length that its advantage is divided by."""


@dataclass(frozen=True, slots=True)
class Scored:
    """The tokens of one episode or design and its advantage."""

    segments: tuple[Segment, ...]
    advantage: float
    role: Role
    group_id: str
    source_id: str


def agent_rows(groups: Sequence[Group], advantage: Advantage, settings: AgentSection) -> list[Scored]:
    """Give each episode of the arms that train its advantage, and leave out groups in which all advantages are 0.

    Episodes and turns that ``settings`` mask are not trained, but their returns count in the group's mean.

    Raises:
        RunError: The estimator did not give one finite number for each episode.
    """
    rows = []
    for group in _trained(groups, settings):
        valid = group.valid
        advantages = advantage(group.returns, [episode.seed for episode in valid])
        if len(advantages) != len(valid) or not all(math.isfinite(value) for value in advantages):
            raise RunError(
                f"agent.advantage = {settings.advantage!r} gave {list(advantages)} for {len(valid)} episodes: it must "
                "give one finite number for each"
            )
        if not any(advantages):
            continue
        for episode, own in zip(valid, advantages, strict=True):
            if settings.mask_truncated and episode.ending != "terminated":
                continue
            segments = _well_formed(episode) if settings.mask_malformed else episode.segments
            rows.append(Scored(segments, own, "agent", episode.group_id, episode.id))
    return rows


def agent_samples(groups: Sequence[Group], settings: AgentSection) -> int:
    """N_agent of the scale between the roles: valid episodes of the arms that train, with a gradient or without."""
    return sum(len(group.valid) for group in _trained(groups, settings))


def _trained(groups: Iterable[Group], settings: AgentSection) -> list[Group]:
    arms: tuple[Arm, ...] = ("unhinted", "hinted") if settings.train_hinted else ("unhinted",)
    return [group for group in groups if group.arm in arms]


def _well_formed(episode: Episode) -> tuple[Segment, ...]:
    """The segments without the sampled tokens of malformed turns: each run of sampled tokens is one turn's reply."""
    turns = iter(episode.turns)
    segments = []
    for segment in episode.segments:
        mask: list[bool] = []
        before = False
        kept = False
        for sampled in segment.loss_mask:
            if sampled and not before:  # a reply begins here
                kept = not next(turns).malformed
            mask.append(sampled and kept)
            before = sampled
        logprobs = tuple(value if keep else 0.0 for value, keep in zip(segment.logprobs, mask, strict=True))
        segments.append(dataclasses.replace(segment, loss_mask=tuple(mask), logprobs=logprobs))
    return tuple(segments)


def build_batch(scored: Sequence[Scored], average: Average) -> list[Row]:
    """Make the training rows: one for each segment with sampled tokens, of samples whose advantage is not 0."""
    kept = [item for item in scored if item.advantage != 0.0 and any(segment.sampled for segment in item.segments)]
    lengths = _lengths(kept, average)
    rows = []
    for item, length in zip(kept, lengths, strict=True):
        weight = item.advantage / (len(kept) * length)
        rows += [_row(item, segment, weight) for segment in item.segments if segment.sampled]
    return rows


def _lengths(kept: Sequence[Scored], average: Average) -> list[float]:
    """The length that each sample is divided by, each role apart from the other."""
    lengths = [math.nan] * len(kept)
    for role in ("agent", "designer"):
        own = [index for index, item in enumerate(kept) if item.role == role]
        if not own:
            continue
        divisors = average([sum(segment.sampled for segment in kept[index].segments) for index in own])
        if len(divisors) != len(own) or not all(0.0 < value < math.inf for value in divisors):
            raise RunError(
                f"update.average gave {list(divisors)} for {len(own)} samples: it must give one finite length above 0 "
                "for each"
            )
        for index, divisor in zip(own, divisors, strict=True):
            lengths[index] = divisor
    return lengths


def _row(item: Scored, segment: Segment, weight: float) -> Row:
    """The training row of a segment: ``weight`` is the advantage of its sampled tokens, and all others have 0."""
    by_mask = (0.0, weight)  # indexed by the mask, since a conditional a token is slow over millions of tokens
    return Row(
        tokens=segment.tokens,
        loss_mask=segment.loss_mask,
        logprobs=segment.logprobs,
        advantages=tuple(map(by_mask.__getitem__, segment.loss_mask)),
        role=item.role,
        group_id=item.group_id,
        source_id=item.source_id,
        policy_version=segment.policy_version,
        temperature=segment.temperature,
    )


def rows_without_advantage(
    groups: Sequence[Group], designer: Sequence[Scored], trained: Sequence[Row], settings: AgentSection
) -> list[Row]:
    """Rows that were sampled for training but have no advantage: only the KL and entropy terms can see them.

    Args:
        groups: of one cycle.
        designer: the designs that were due.
        trained: the rows of ``build_batch``, which are not repeated.
        settings: which arms train, and what is masked.
    """
    # Any number but 0 will do for an advantage: groups without spread are wanted too.
    agent = agent_rows(groups, lambda returns, seeds: (1.0,) * len(returns), settings)
    used = {row.source_id for row in trained}
    rows = []
    for item in (*agent, *designer):
        if item.source_id not in used:
            rows += [_row(item, segment, 0.0) for segment in item.segments if segment.sampled]
    return rows
