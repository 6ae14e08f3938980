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
    return logprob_table(model, tokens, temperature).gather(1, ids[0, 1:, None])[:, 0]


def logprob_table(model: Any, tokens: Sequence[int], temperature: float = 1.0) -> Tensor:
    """Log-probabilities [length - 1, vocabulary] of the token after each but the last."""
    logits = model(input_ids=torch.tensor([list(tokens)])).logits[0, :-1].float()
    return torch.log_softmax(logits / temperature, dim=-1)


def reference_loss(
    model: Any, rows: Sequence[types.TrainingRow], hp: Hyperparameters, old_model: Any, start: Any = None
) -> Tensor:
    """The loss that ``Hyperparameters`` defines, written out row by row and token by token.

    Args:
        model: At the present weights.
        rows: Of one optimiser step.
        hp: Its settings.
        old_model: At the weights at the start of the update.
        start: The start model; without it there is no KL term.
    """
    surrogate, regulariser, trained = torch.zeros(()), torch.zeros(()), 0
    for row in rows:
        table = logprob_table(model, row.tokens, row.temperature)
        new = logprobs_of(model, row.tokens, row.temperature)
        with torch.no_grad():
            old = logprobs_of(old_model, row.tokens, row.temperature)
            first = logprobs_of(start, row.tokens, row.temperature) if start is not None else None
        places = [t for t in range(1, len(row.tokens)) if row.loss_mask[t]]
        trained += len(places)
        log_ratios = [new[t - 1] - old[t - 1] for t in places]
        log_weights = [old[t - 1] - row.logprobs[t] for t in places]
        if hp.ratio == "sequence":
            log_ratios = [torch.stack(log_ratios).mean()] * len(places)
            log_weights = [torch.stack(log_weights).mean()] * len(places)
        for t, log_ratio, log_weight in zip(places, log_ratios, log_weights, strict=True):
            ratio, weight = log_ratio.exp(), min(log_weight.exp().item(), hp.importance_cap)
            bounded = ratio.clamp(1 - hp.clip_low, 1 + hp.clip_high)
            surrogate = surrogate - weight * torch.min(ratio * row.advantages[t], bounded * row.advantages[t])
            if first is not None:
                gap = first[t - 1] - new[t - 1]
                regulariser = regulariser + hp.kl_coef * (gap.exp() - gap - 1)
            regulariser = regulariser + hp.entropy_coef * (table[t - 1].exp() * table[t - 1]).sum()
    return surrogate + regulariser / trained


def gradient_norm(model: Any, rows: Sequence[types.TrainingRow], hp: Hyperparameters, start: Any = None) -> float:
    """Norm of the gradient of ``reference_loss`` by what trains in ``model``, for the first step of an update."""
    model.zero_grad()
    reference_loss(model, rows, hp, model, start).backward()  # type: ignore[no-untyped-call]
    squares = [p.grad.pow(2).sum() for p in model.parameters() if p.requires_grad and p.grad is not None]
    return float(torch.stack(squares).sum().sqrt())
