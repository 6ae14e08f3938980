"""Sampling one token a row from logits, by the inverse of the cumulative distribution.

Each request has a random generator of its own, seeded by the run's seed and the request's key. So the requests that
share a batch do not change each other's tokens, except where they change the last bits of the logits.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch
from torch import Tensor

from spadework.policies.base import SamplingParams
from spadework.types import Key, derive_seed

_BELOW_ONE = 1.0 - 2.0**-24
"""The largest number below 1 in single precision; a larger one would round to 1 and select beyond the last token."""


class Uniforms:
    """The uniform numbers of one request."""

    def __init__(self, run_seed: int, key: Key) -> None:
        self._generator = random.Random(derive_seed(run_seed, "sample", *key))

    def next(self) -> float:
        """The next number in [0, 1)."""
        return min(self._generator.random(), _BELOW_ONE)


def sample_tokens(
    logits: Tensor, params: Sequence[SamplingParams], uniforms: Sequence[float]
) -> tuple[list[int], list[float]]:
    """Sample one token a row.

    Args:
        logits: [rows, vocabulary], single precision; -inf where a grammar forbids.
        params: Temperature, top-p and top-k of each row. Temperature 0 takes the most likely token.
        uniforms: One number in [0, 1) a row.

    Returns:
        The tokens, and their log-probabilities under the distribution that they were sampled from: after temperature,
        top-k and top-p. A greedy token has log-probability 0; NaN means that the logits were not finite.
    """
    temperatures = torch.tensor([p.temperature or 1.0 for p in params], device=logits.device)
    logits = logits / temperatures[:, None]
    narrow = [row for row, p in enumerate(params) if p.top_p < 1.0 or p.top_k > 0]
    if narrow:
        logits[narrow] = _truncate(logits[narrow], [params[row] for row in narrow])
    logprobs = torch.log_softmax(logits, dim=-1)
    cumulative = logprobs.exp().cumsum(dim=-1)
    # The sum of the probabilities is 1 but for rounding, so the uniform numbers are scaled to what it came to. With
    # ``right=True`` a token of probability 0 is never selected, since its step of the cumulative sum is empty.
    targets = torch.tensor(uniforms, device=logits.device)[:, None] * cumulative[:, -1:]
    sampled = torch.searchsorted(cumulative, targets, right=True).clamp_(max=logits.shape[-1] - 1)
    greedy = torch.tensor([p.temperature == 0 for p in params], device=logits.device)
    chosen = torch.where(greedy[:, None], logits.argmax(dim=-1, keepdim=True), sampled)
    values = logprobs.gather(1, chosen)
    values = torch.where(greedy[:, None] & values.isfinite(), torch.zeros_like(values), values)
    return chosen[:, 0].tolist(), values[:, 0].tolist()


def _truncate(logits: Tensor, params: Sequence[SamplingParams]) -> Tensor:
    """-inf outside the ``top_k`` most likely tokens and outside the smallest set with mass ``top_p``."""
    vocabulary = logits.shape[-1]
    ordered, order = logits.sort(dim=-1, descending=True)
    ranks = torch.arange(vocabulary, device=logits.device)
    limits = torch.tensor([p.top_k or vocabulary for p in params], device=logits.device)
    ordered = ordered.masked_fill(ranks >= limits[:, None], -torch.inf)
    probabilities = torch.softmax(ordered, dim=-1)
    # A token stays while those before it have less than ``top_p`` together: the one that crosses it is kept.
    before = probabilities.cumsum(dim=-1) - probabilities
    top_p = torch.tensor([p.top_p for p in params], device=logits.device)
    ordered = ordered.masked_fill(before >= top_p[:, None], -torch.inf)
    return torch.empty_like(logits).scatter_(1, order, ordered)
