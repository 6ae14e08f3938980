"""The losses of a token row (method section 8), all plain sums over tokens, and the log-probabilities they need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

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


def target_logprobs(
    hidden: Tensor, head: Callable[[Tensor], Tensor], targets: Tensor, temperature: float
) -> tuple[Tensor, Tensor]:
    """Log-probabilities and entropies [M] of targets [M] predicted from hidden states [M, size].

    Logits exist for ``_CHUNK`` tokens at a time and are computed again in the backward pass, so memory does not grow
    with length times vocabulary. The distribution is softmax(logits / temperature), as in sampling.
    """

    def chunk_of(states: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
        distribution = torch.log_softmax(head(states).float() / temperature, dim=-1)
        with torch.no_grad():
            entropy = -(distribution.exp() * distribution).sum(dim=-1)
        return distribution.gather(1, wanted[:, None])[:, 0], entropy

    chosen, entropies = [], []
    for start in range(0, len(targets), _CHUNK):
        states, wanted = hidden[start : start + _CHUNK], targets[start : start + _CHUNK]
        if torch.is_grad_enabled():
            logprob, entropy = checkpoint(chunk_of, states, wanted, use_reentrant=False)
        else:
            logprob, entropy = chunk_of(states, wanted)
        chosen.append(logprob)
        entropies.append(entropy)
    return torch.cat(chosen), torch.cat(entropies)
