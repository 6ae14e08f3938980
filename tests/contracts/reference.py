"""What every engine is measured against: one row at a time through a plain Hugging Face model, no caches, no packs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from spadework import types
from spadework.policies.base import Hyperparameters


def logprobs_of(model: Any, tokens: Sequence[int], temperature: float = 1.0) -> Tensor:
    """Log-probability of each token but the first, given those before it."""
    ids = torch.tensor([list(tokens)])
    logits = model(input_ids=ids).logits[0, :-1].float() / temperature
    return torch.log_softmax(logits, dim=-1).gather(1, ids[0, 1:, None])[:, 0]


def gradient_norm(model: Any, rows: Sequence[types.TrainingRow], hp: Hyperparameters, start: Any = None) -> float:
    """Norm of the gradient of the objective of method section 8 by what trains in ``model``, at its present weights."""
    model.zero_grad()
    trained = sum(sum(row.loss_mask[1:]) for row in rows)
    for row in rows:
        current = logprobs_of(model, row.tokens, row.temperature)
        mask = torch.tensor(row.loss_mask[1:])
        weight = (current.detach() - torch.tensor(row.logprobs[1:])).exp().clamp(max=hp.importance_cap)
        ratio = (current - current.detach()).exp()
        loss = -(mask * weight * ratio * torch.tensor(row.advantages[1:])).sum()
        if start is not None:
            gap = logprobs_of(start, row.tokens, row.temperature).detach() - current
            loss = loss + hp.kl_coef / trained * (mask * (gap.exp() - gap - 1)).sum()
        loss.backward()
    squares = [p.grad.pow(2).sum() for p in model.parameters() if p.requires_grad and p.grad is not None]
    return float(torch.stack(squares).sum().sqrt())
