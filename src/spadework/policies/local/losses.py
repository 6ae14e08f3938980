"""The losses of a token row (method section 8), all plain sums over tokens, and the log-probabilities they need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from spadework.policies.base import Hyperparameters

_CHUNK = 512
"""Tokens whose vocabulary-sized logits exist at once."""


@dataclass(frozen=True, slots=True)
class TokenLoss:
    """Loss to minimise and what it was made of; ``weight`` and ``clipped`` are [M]."""

    loss: Tensor
    weight: Tensor
    clipped: Tensor


def surrogate_loss(
    logprobs: Tensor, old: Tensor, sampled: Tensor, advantages: Tensor, hp: Hyperparameters
) -> TokenLoss:
    """Token-level clipped surrogate, as a sum: -sum_t w_t min(r_t A_t, clip(r_t, 1 - low, 1 + high) A_t).

    r_t = exp(logprobs - old) is the ratio to the weights at the start of the update, and w_t = min(exp(old - sampled),
    cap) the truncated importance weight against the policy that sampled: mismatch of the engines, and delay.

    Args:
        logprobs: [M] of the current weights, with gradient.
        old: [M] of the weights at the start of the update.
        sampled: [M] of the sampling policy.
        advantages: [M].
        hp: Clip range and cap.
    """
    ratio = (logprobs - old.detach()).exp()
    clipped = ratio.clamp(1.0 - hp.clip_low, 1.0 + hp.clip_high)
    weight = (old - sampled).detach().exp().clamp(max=hp.importance_cap)
    gain, bounded = ratio * advantages, clipped * advantages
    loss = -(weight * torch.minimum(gain, bounded)).sum()
    return TokenLoss(loss, weight, (bounded < gain).detach())


def kl_estimate(logprobs: Tensor, reference: Tensor) -> Tensor:
    """Of the KL to the reference, a token each: the low-variance exp(d) - d - 1 with d = reference - logprobs."""
    difference = reference - logprobs
    return difference.exp() - difference - 1.0


def target_logprobs(hidden: Tensor, head: nn.Linear, targets: Tensor, temperatures: Tensor) -> tuple[Tensor, Tensor]:
    """Log-probabilities and entropies [M] of targets [M] predicted from hidden states [M, size].

    Logits exist for ``_CHUNK`` tokens at a time and are computed again in the backward pass, so memory does not grow
    with length times vocabulary. The distribution is softmax(logits / temperature), each token's own of
    ``temperatures`` [M], as in sampling. Entropies carry no gradient. Under autocast the products are in its type,
    everything else in single precision.
    """
    kind = hidden.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else hidden.dtype
    logprobs, entropies = _TargetLogprobs.apply(hidden, head.weight, targets, temperatures, dtype)  # type: ignore[no-untyped-call]
    return logprobs, entropies


class _TargetLogprobs(torch.autograd.Function):
    """See ``target_logprobs``. Autograd would keep the logits, or, with checkpoints, do the entropy's work twice."""

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, targets: Tensor, temperatures: Tensor, dtype: torch.dtype
    ) -> tuple[Tensor, Tensor]:
        states, low = hidden.to(dtype), weight.to(dtype)
        norms, chosen, entropies = [], [], []
        pieces = (torch.split(tensor, _CHUNK) for tensor in (states, targets, temperatures))
        for part, wanted, warmth in zip(*pieces, strict=True):
            logits = _scaled_logits(part, low, warmth)
            norm = logits.logsumexp(dim=-1, keepdim=True)
            chosen.append((logits.gather(1, wanted[:, None]) - norm)[:, 0])
            logits.sub_(norm)
            entropies.append(-torch.linalg.vecdot(logits.exp(), logits))
            norms.append(norm)
        ctx.save_for_backward(states, low, targets, torch.cat(norms), temperatures)
        ctx.types = (hidden.dtype, weight.dtype)
        entropy = torch.cat(entropies)
        ctx.mark_non_differentiable(entropy)
        return torch.cat(chosen), entropy

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor, Tensor | None, None, None, None]:
        states, low, targets, norms, temperatures = ctx.saved_tensors
        to_states = []
        to_weight = torch.zeros_like(low, dtype=ctx.types[1]) if ctx.needs_input_grad[1] else None
        scaled = gradient / temperatures
        pieces = (torch.split(tensor, _CHUNK) for tensor in (states, targets, norms, scaled, temperatures))
        for part, wanted, norm, scale, warmth in zip(*pieces, strict=True):
            # d log p(target) / d logits = (one at the target) - p
            slope = _scaled_logits(part, low, warmth).sub_(norm).exp_().mul_(-scale[:, None])
            slope.scatter_add_(1, wanted[:, None], scale[:, None])
            slope = slope.to(low.dtype)
            to_states.append(slope @ low)
            if to_weight is not None:
                to_weight += slope.T @ part
        return torch.cat(to_states).to(ctx.types[0]), to_weight, None, None, None


def _scaled_logits(states: Tensor, weight: Tensor, temperatures: Tensor) -> Tensor:
    with torch.autocast(states.device.type, enabled=False):
        logits = (states @ weight.T).float()
    return logits.div_(temperatures[:, None])
