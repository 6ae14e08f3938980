"""The terms of the loss (method section 8), and the log-probabilities and entropies that they need.

``policies.base.Hyperparameters`` has the formula of the whole. Nothing here knows of rows, packs or models but the ids
that say which tokens belong to one row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from spadework.policies.base import Hyperparameters

_CHUNK = 512
"""Tokens whose logits, one for each entry of the vocabulary, exist at once."""


@dataclass(frozen=True, slots=True)
class TokenLoss:
    """Loss to minimise and what it was made of; ``weight`` and ``clipped`` are [M]."""

    loss: Tensor
    weight: Tensor
    clipped: Tensor


def surrogate_loss(
    logprobs: Tensor, old: Tensor, sampled: Tensor, advantages: Tensor, rows: Tensor, hp: Hyperparameters
) -> TokenLoss:
    """Clipped surrogate, as a sum over tokens: -sum_t w_t min(r_t A_t, clip(r_t, 1 - low, 1 + high) A_t).

    r_t = exp(logprobs - old) is the ratio to the weights at the start of the update. w_t = min(exp(old - sampled), cap)
    is the truncated importance weight against the policy that sampled: it corrects for a sampler whose arithmetic
    differs, and for weights that have moved since.

    With ``hp.ratio = "sequence"`` both exponents are first averaged over the tokens of the row, so all tokens of a row
    share one ratio s = (prod_t p_t / p_t^old)^(1 / length), one clipping and one weight (GSPO, arXiv 2507.18071, eq. 5
    and 7). A conversation that was split into several rows counts as several sequences.

    Args:
        logprobs: [M] of the current weights, with gradient.
        old: [M] of the weights at the start of the update.
        sampled: [M] of the sampling policy.
        advantages: [M].
        rows: [M]: which row of the pack each token belongs to, counted from 0.
        hp: Clip range, cap and the kind of ratio.
    """
    log_ratio, log_weight = logprobs - old.detach(), (old - sampled).detach()
    if hp.ratio == "sequence":
        log_ratio, log_weight = row_means(log_ratio, rows), row_means(log_weight, rows)
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1.0 - hp.clip_low, 1.0 + hp.clip_high)
    weight = log_weight.exp().clamp(max=hp.importance_cap)
    gain, bounded = ratio * advantages, clipped * advantages
    loss = -(weight * torch.minimum(gain, bounded)).sum()
    return TokenLoss(loss, weight, (bounded < gain).detach())


def row_means(values: Tensor, rows: Tensor) -> Tensor:
    """Give each token the mean of its row's ``values``; [M] like ``values`` and ``rows``."""
    if not len(rows):
        return values
    zeros = values.new_zeros(int(rows.max()) + 1)
    sums = zeros.index_add(0, rows, values)
    counts = zeros.index_add(0, rows, torch.ones_like(values))
    return (sums / counts)[rows]


def kl_estimate(logprobs: Tensor, reference: Tensor) -> Tensor:
    """Estimate the KL divergence to the reference at each token: exp(d) - d - 1 with d = reference - logprobs.

    This is the low-variance estimator k3: never negative, and unbiased for tokens that the current weights sampled.
    """
    difference = reference - logprobs
    return difference.exp() - difference - 1.0


def target_logprobs(hidden: Tensor, head: nn.Linear, targets: Tensor, temperatures: Tensor) -> tuple[Tensor, Tensor]:
    """Log-probabilities and entropies [M] of targets [M] predicted from hidden states [M, size].

    Logits exist for ``_CHUNK`` tokens at a time and are computed again in the backward pass, so memory does not grow
    with length times vocabulary. The distribution is softmax(logits / temperature), as in sampling; each token has its
    own temperature, from ``temperatures`` [M]. Both results carry gradients. Under autocast the matrix products are in
    its type, and everything else is in single precision.
    """
    kind = hidden.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else hidden.dtype
    logprobs, entropies = _TargetLogprobs.apply(hidden, head.weight, targets, temperatures, dtype)  # type: ignore[no-untyped-call]
    return logprobs, entropies


class _TargetLogprobs(torch.autograd.Function):
    """See ``target_logprobs``.

    Written by hand, since autograd would keep the logits of all chunks; and checkpointing the chunks instead would
    repeat the work of the entropy in the backward pass even where nothing needs its gradient.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, targets: Tensor, temperatures: Tensor, dtype: torch.dtype
    ) -> tuple[Tensor, Tensor]:
        states, low = hidden.to(dtype), weight.to(dtype)
        norms, chosen, entropies = [], [], []
        pieces = (torch.split(tensor, _CHUNK) for tensor in (states, targets, temperatures))
        for part, part_targets, part_temperatures in zip(*pieces, strict=True):
            logits = _scaled_logits(part, low, part_temperatures)
            norm = logits.logsumexp(dim=-1, keepdim=True)
            chosen.append((logits.gather(1, part_targets[:, None]) - norm)[:, 0])
            logits.sub_(norm)  # log-probabilities from here on, in place
            entropies.append(-torch.linalg.vecdot(logits.exp(), logits))
            norms.append(norm)
        entropy = torch.cat(entropies)
        ctx.save_for_backward(states, low, targets, torch.cat(norms), temperatures, entropy)
        ctx.types = (hidden.dtype, weight.dtype)
        # An output that no loss uses then has the gradient None, and its part of the backward pass is skipped.
        ctx.set_materialize_grads(False)
        return torch.cat(chosen), entropy

    @staticmethod
    def backward(
        ctx: Any, to_logprobs: Tensor | None, to_entropy: Tensor | None
    ) -> tuple[Tensor, Tensor | None, None, None, None]:
        states, low, targets, norms, temperatures, entropy = ctx.saved_tensors
        to_states = []
        to_weight = torch.zeros_like(low, dtype=ctx.types[1]) if ctx.needs_input_grad[1] else None
        # The chain rule through logits / temperature, once for all chunks.
        scale = (torch.zeros_like(temperatures) if to_logprobs is None else to_logprobs) / temperatures
        entropy_scale = None if to_entropy is None else to_entropy / temperatures
        for start in range(0, max(1, len(targets)), _CHUNK):  # one empty chunk for a pack without targets
            part = slice(start, start + _CHUNK)
            log_probs = _scaled_logits(states[part], low, temperatures[part]).sub_(norms[part])
            if entropy_scale is None:
                probs = log_probs.exp_()
                slope = probs.mul_(-scale[part, None])
            else:
                # d H / d logits = -p (log p + H)
                probs = log_probs.exp()
                pull = log_probs.add_(entropy[part, None]).mul_(entropy_scale[part, None]).add_(scale[part, None])
                slope = probs.mul_(pull.neg_())
            # d log p(target) / d logits = (one at the target) - p
            slope.scatter_add_(1, targets[part, None], scale[part, None])
            slope = slope.to(low.dtype)
            to_states.append(slope @ low)
            if to_weight is not None:
                to_weight += slope.T @ states[part]
        return torch.cat(to_states).to(ctx.types[0]), to_weight, None, None, None


def _scaled_logits(states: Tensor, weight: Tensor, temperatures: Tensor) -> Tensor:
    with torch.autocast(states.device.type, enabled=False):
        logits = (states @ weight.T).float()
    return logits.div_(temperatures[:, None])
