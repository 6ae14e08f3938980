"""Rows of unequal shape, and the optimiser steps that a local trainer takes on them, with their gradients."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import pytest
import torch
from reference import reference_loss

from spadework.policies.base import Hyperparameters, RoleStep
from spadework.policies.local.models import load_model
from spadework.policies.local.options import LocalOptions
from spadework.policies.local.policy import load_local
from spadework.policies.local.training.trainer import LocalTrainer
from spadework.types import TrainingRow

HP = Hyperparameters(lr=0.0, grad_clip=1e9)


def row(tokens: list[int], prompt: int, rng: random.Random, group: str = "g") -> TrainingRow:
    """A row whose tokens after the prompt are trained, but for some holes (an observation, the end of a cut turn)."""
    mask = tuple(index >= prompt and index % 7 != 3 for index in range(len(tokens)))
    return TrainingRow(
        tokens=tuple(tokens),
        loss_mask=mask,
        logprobs=tuple(-4.5 - rng.random() * 2 if m else 0.0 for m in mask),
        advantages=tuple(rng.gauss(0, 1) if m else 0.0 for m in mask),
        role="agent",
        group_id=group,
        source_id="s",
        policy_version=0,
        temperature=rng.choice([0.7, 1.0]),
    )


def grouped_rows(seed: int = 0) -> list[TrainingRow]:
    """Three groups of rows with common prompts, of which some replies are equal at first; and a lone row."""
    rng = random.Random(seed)
    rows = []
    system = [rng.randrange(256) for _ in range(20)]
    for group in range(3):
        prompt = system + [rng.randrange(256) for _ in range(10 + 5 * group)]
        start = [rng.randrange(256) for _ in range(4)]
        for index in range(5):
            reply = (start if index % 2 else []) + [rng.randrange(256) for _ in range(rng.randint(1, 30))]
            rows.append(row(prompt + reply, len(prompt), rng, str(group)))
    lone = [rng.randrange(256) for _ in range(150)]
    return [*rows, row(lone, 60, rng), rows[0]]


@dataclasses.dataclass
class Step:
    """One optimiser step of a trainer: the weights before it, and the gradients that it takes."""

    role: str
    weights: dict[str, torch.Tensor]
    gradients: dict[str, torch.Tensor]


def record_steps(trainer: LocalTrainer, monkeypatch: pytest.MonkeyPatch) -> list[Step]:
    """A list that grows by each optimiser step that the trainer takes."""
    steps: list[Step] = []
    take = trainer._optimizers.step

    def recorded(step: RoleStep, hp: Hyperparameters) -> float:
        weights = {name: p.detach().clone() for name, p in trainer._trained.items()}
        gradients = {name: p.grad.clone() for name, p in trainer._trained.items() if p.grad is not None}
        steps.append(Step(step.role, weights, gradients))
        return take(step, hp)

    monkeypatch.setattr(trainer._optimizers, "step", recorded)
    return steps


def model_at(weights: dict[str, torch.Tensor]) -> Any:
    model = load_model("tiny-random", seed=2).model
    model.load_state_dict(weights, strict=False)
    return model


def check_gradient(step: Step, rows: list[TrainingRow], hp: Hyperparameters, old: Any) -> float:
    """Compare a step's gradients with those of the hand-written loss; returns that loss."""
    model, start = model_at(step.weights), load_model("tiny-random", seed=2).model
    loss = reference_loss(model, rows, hp, old, start if hp.kl_coef else None)
    loss.backward()  # type: ignore[no-untyped-call]
    for name, parameter in model.named_parameters():
        error = float((step.gradients[name] - parameter.grad).norm() / parameter.grad.norm())
        assert error < 2e-3, f"{name}: {error}"
    return loss.item()


def tiny(budget: int = 200) -> LocalTrainer:
    options = LocalOptions(threads=1, dtype="float32", micro_batch_tokens=budget)
    return load_local("tiny-random", run_seed=2, options=options)[1]
