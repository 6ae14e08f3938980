"""From ``[update]`` to one update: the hyper-parameters of a cycle, and the optimiser steps that a trainer takes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from spadework import types
from spadework.config.training import UpdateSection
from spadework.policies.base import Hyperparameters, RoleStep

ALL_ROLES = ""
"""The role of the one step that takes all rows."""


@dataclass(frozen=True, slots=True)
class StepRows:
    """One optimiser step, and the rows that it takes."""

    step: RoleStep
    rows: tuple[types.TrainingRow, ...]


def hyperparameters(update: UpdateSection, cycle: int, cycles: int) -> Hyperparameters:
    """The hyper-parameters of one cycle, counted from 0, of a run of ``cycles``."""
    factor = learning_rate_factor(update, cycle, cycles)
    own = update.role_settings()
    return Hyperparameters(
        lr=update.lr * factor,
        clip_low=update.clip_low,
        clip_high=update.clip_high,
        importance_cap=update.importance_cap,
        ratio=update.ratio,
        kl_coef=update.kl_coef,
        kl_rows=update.kl_rows,
        entropy_coef=update.entropy_coef,
        grad_clip=update.grad_clip,
        betas=(update.beta1, update.beta2),
        weight_decay=update.weight_decay,
        minibatches=update.minibatches,
        role_steps=tuple(RoleStep(role, lr * factor, kl_coef) for role, (lr, kl_coef) in own.items()),
    )


def learning_rate_factor(update: UpdateSection, cycle: int, cycles: int) -> float:
    """What the learning rate is multiplied by at a cycle.

    With W = ``warmup_steps`` it is (cycle + 1) / W for the first W cycles. Afterwards, with p = (cycle - W) /
    (cycles - W), it is 1 (``constant``), 1 - p (``linear``) or (1 + cos(pi p)) / 2 (``cosine``). It depends on the
    cycle alone, so a resumed run goes on where it was; and it is never 0, since p stays below 1.
    """
    warmup = update.warmup_steps
    if cycle < warmup:
        return (cycle + 1) / warmup
    progress = (cycle - warmup) / max(1, cycles - warmup)
    if update.schedule == "linear":
        return 1.0 - progress
    if update.schedule == "cosine":
        return (1.0 + math.cos(math.pi * progress)) / 2.0
    return 1.0


def plan_steps(batch: Sequence[types.TrainingRow], hp: Hyperparameters) -> Iterator[StepRows]:
    """The optimiser steps of one pass over a batch: role by role, and within a role one for each mini-batch.

    Mini-batch k of n takes every n-th row from the k-th on. Rows that can have no gradient are left out, and a step
    without rows is not taken.

    Raises:
        ValueError: ``hp.role_steps`` has no step for the role of a row.
    """
    steps = hp.role_steps or (RoleStep(ALL_ROLES, hp.lr, hp.kl_coef),)
    missing = {row.role for row in batch} - {step.role for step in steps}
    if hp.role_steps and missing:
        raise ValueError(f"role_steps has no step for rows of the role {min(missing)!r}")
    for step in steps:
        regularised = bool(step.kl_coef or hp.entropy_coef)
        rows = []
        for row in batch:
            belongs = step.role in (ALL_ROLES, row.role)
            if belongs and (any(row.advantages) or (regularised and hp.kl_rows == "all")):
                rows.append(row)
        for k in range(hp.minibatches):
            part = tuple(rows[k :: hp.minibatches])
            if part:
                yield StepRows(step, part)
