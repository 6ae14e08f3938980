"""The optimiser and the loss, and the fine-tuning before the first cycle."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from spadework.config.base import OpenSection, Section
from spadework.types import Role


class ConstantLengthSettings(Section):
    """The length that ``update.average = "constant_length"`` divides every sample by."""

    tokens: int = Field(8_192, ge=1)
    """The length in tokens."""


class RoleUpdate(Section):
    """What one role's optimiser step changes."""

    lr: float | None = Field(None, gt=0)
    """Learning rate; ``update.lr`` when unset. The schedule holds for it too."""
    kl_coef: float | None = Field(None, ge=0)
    """Weight of the KL term; ``update.kl_coef`` when unset."""


class RoleUpdates(Section):
    """Settings of ``update.by_role``, a table a role."""

    agent: RoleUpdate = RoleUpdate()
    designer: RoleUpdate = RoleUpdate()


class UpdateSection(OpenSection):
    """The optimiser and the loss (method section 8)."""

    average: str = "token_mean"
    """How the samples of a role share its loss: ``token_mean`` (each token alike), ``sample_mean`` (each sample alike,
    as in the authors' runs), ``constant_length`` (Dr. GRPO), an installed plug-in, or ``module:Class`` of your own."""
    constant_length: ConstantLengthSettings = ConstantLengthSettings()
    lr: float = Field(1e-6, gt=0)
    """Learning rate of AdamW."""
    clip_low: float = Field(0.2, gt=0)
    """The ratio is clipped below at 1 minus this."""
    clip_high: float = Field(0.28, gt=0)
    """The ratio is clipped above at 1 plus this."""
    importance_cap: float = Field(2.0, gt=0)
    """The most that a token's weight for the mismatch between sampler and trainer may be."""
    kl_coef: float = Field(0.0, ge=0)
    """Weight of the KL divergence to the start model."""
    grad_clip: float = Field(1.0, gt=0)
    """Largest norm of a step's gradient."""
    beta1: float = Field(0.9, ge=0, lt=1)
    """Decay of AdamW's first moment."""
    beta2: float = Field(0.98, ge=0, lt=1)
    """Decay of AdamW's second moment."""
    weight_decay: float = Field(0.1, ge=0)
    """Weight decay of AdamW."""
    minibatches: int = Field(1, ge=1)
    """Optimiser steps a batch; with ``by_role``, of each role."""
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    """How the learning rate falls from its full value after the warm-up to 0 at the end of the run."""
    warmup_steps: int = Field(0, ge=0)
    """Cycles over which the learning rate first rises to its full value, in equal steps."""
    ratio: Literal["token", "sequence"] = "token"
    """Whether the clipped ratio belongs to each token, or to a whole row: the geometric mean over its tokens (GSPO).
    GSPO's own clip range is much narrower: 0.0003 below and 0.0004 above."""
    kl_rows: Literal["trained", "all"] = "trained"
    """Rows that the KL and entropy terms see: those with an advantage, or all that were sampled for training, as in the
    authors' code."""
    entropy_coef: float = Field(0.0, ge=0)
    """Weight of a bonus for the entropy of the policy's distribution."""
    by_role: bool = False
    """Whether agent and designer rows take an optimiser step each, with moments of their own, so that a large gradient
    of one role does not shrink the steps of the other. The moments then take twice the memory. Not the paper's."""
    roles: RoleUpdates = RoleUpdates()
    """What a role's own step changes, e.g. ``[update.roles.designer]`` with ``lr = 3e-6``."""

    @model_validator(mode="after")
    def _check_roles(self) -> UpdateSection:
        if not self.by_role and self.roles != RoleUpdates():
            raise ValueError("roles: settings of a role need its own optimiser step: set update.by_role = true")
        return self

    def role_settings(self) -> dict[Role, tuple[float, float]]:
        """Learning rate and KL coefficient of each role's own step; empty where one step takes all rows."""
        if not self.by_role:
            return {}
        own: dict[Role, RoleUpdate] = {"agent": self.roles.agent, "designer": self.roles.designer}
        found = {}
        for role, settings in own.items():
            lr = self.lr if settings.lr is None else settings.lr
            kl_coef = self.kl_coef if settings.kl_coef is None else settings.kl_coef
            found[role] = (lr, kl_coef)
        return found


class WarmupSection(Section):
    """Supervised fine-tuning on the bundled examples, for small models; cached by content."""

    enabled: bool = False
    """Whether a start model is fitted to examples before the first cycle."""
    epochs: int = Field(4, ge=1)
    """Passes over the examples."""
    lr: float = Field(1e-4, gt=0)
    """Learning rate of the fit."""
    batch: int = Field(8, ge=1)
    """Rows in each of its steps."""
    transcripts: int = Field(4, ge=0)
    """Winning transcripts an example."""
    levels: tuple[str, ...] = ("trivial", "easy")
    """Examples used, by level."""
    max_program: int = Field(760, ge=100)
    """Characters of a program; longer ones teach a small model only to write what does not run, but are played."""


class LessonsSection(Section):
    """Families of small tasks that stand in for the bundled examples: a warm-up in which hints carry information, seeds
    of pool and memory, and held-out games (docs/default-job.md).
    """

    families: str | None = None
    """``words`` for the word games that ship, or a TOML file of your own in the same form; its Python runs in this
    process. Unset: the bundled examples are what a model is warmed up on and what seeds its pool."""
    plays: int = Field(480, ge=1)
    """Games of the warm-up, each played without and with its hint."""
    designs: int = Field(160, ge=0)
    """Designs of the warm-up."""
