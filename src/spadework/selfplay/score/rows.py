"""From scored episodes and designs to training rows, with every normalisation folded into the advantages.

The trainer takes a plain sum over tokens. A row's token advantage is its advantage over (N x mean length of its role),
where N counts the rows of the batch: within a role the mean over tokens of method section 8, between the roles a share
by their number of rows, which ``rewards.role_scale`` evens out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from spadework.config import AgentSection
from spadework.types import Episode, Group, Role, Segment
from spadework.types import TrainingRow as Row

Advantage = Callable[[Sequence[float]], tuple[float, ...] | None]
"""Returns of a group -> advantage of each episode, or nothing for a group that carries no gradient."""


@dataclass(frozen=True, slots=True)
class Scored:
    """The tokens of one episode or design and its advantage."""

    segments: tuple[Segment, ...]
    advantage: float
    role: Role
    group_id: str
    source_id: str


def agent_rows(
    groups: Sequence[Group],
    advantage: Advantage,
    *,
    train_hinted: bool,
    mask_truncated: bool,
    mask_malformed: bool = False,
) -> list[Scored]:
    """Episodes of groups with spread; what is masked still counts in the group's mean.

    Args:
        groups: of one cycle.
        advantage: of each episode of a group, from the group's returns.
        train_hinted: whether the hinted arm trains too.
        mask_truncated: whether truncated episodes are left out.
        mask_malformed: whether the tokens of malformed turns are left out.
    """
    trained = ("unhinted", "hinted") if train_hinted else ("unhinted",)
    rows = []
    for group in groups:
        if group.arm not in trained:
            continue
        advantages = advantage(group.returns)
        if advantages is None:
            continue
        for episode, own in zip(group.valid, advantages, strict=True):
            if mask_truncated and episode.ending != "terminated":
                continue
            segments = _well_formed(episode) if mask_malformed else episode.segments
            rows.append(Scored(segments, own, "agent", episode.group_id, episode.id))
    return rows


def _well_formed(episode: Episode) -> tuple[Segment, ...]:
    """The segments without the sampled tokens of malformed turns: each run of sampled tokens is one turn's reply."""
    turns = iter(episode.turns)
    segments = []
    for segment in episode.segments:
        mask, before, kept = [], False, False
        for sampled in segment.loss_mask:
            if sampled and not before:
                kept = not next(turns).malformed
            mask.append(sampled and kept)
            before = sampled
        logprobs = tuple(value if keep else 0.0 for value, keep in zip(segment.logprobs, mask, strict=True))
        segments.append(dataclasses.replace(segment, loss_mask=tuple(mask), logprobs=logprobs))
    return tuple(segments)


def build_batch(scored: Sequence[Scored]) -> list[Row]:
    """Training rows, one a segment that holds sampled tokens and an advantage other than 0."""
    kept = [item for item in scored if item.advantage != 0.0 and any(segment.sampled for segment in item.segments)]
    sampled: dict[Role, int] = {"agent": 0, "designer": 0}
    count: dict[Role, int] = {"agent": 0, "designer": 0}
    for item in kept:
        count[item.role] += 1
        sampled[item.role] += sum(segment.sampled for segment in item.segments)
    rows = []
    for item in kept:
        mean_length = sampled[item.role] / count[item.role]
        weight = item.advantage / (len(kept) * mean_length)
        rows += [_row(item, segment, weight) for segment in item.segments if segment.sampled]
    return rows


def _row(item: Scored, segment: Segment, weight: float) -> Row:
    by_mask = (0.0, weight)
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
    agent = agent_rows(
        groups,
        lambda returns: (1.0,) * len(returns),  # any number but 0: groups without spread are wanted too
        train_hinted=settings.train_hinted,
        mask_truncated=settings.mask_truncated,
        mask_malformed=settings.mask_malformed,
    )
    used = {row.source_id for row in trained}
    rows = []
    for item in (*agent, *designer):
        if item.source_id not in used:
            rows += [_row(item, segment, 0.0) for segment in item.segments if segment.sampled]
    return rows
