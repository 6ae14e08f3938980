"""The metrics of ``LocalTrainer.train`` and ``fit``, summed while the packs go by. Means are over trained tokens.

=================== ====================================================================================
loss                the sum that was minimised, without the KL and entropy terms
grad_norm           before clipping, of the last optimiser step
grad_norm_ROLE      the same, of the role's last step; only where roles take steps of their own
clip_share          share of tokens whose ratio was cut by the clip range
importance_mean/max truncated importance weights
logprob_mismatch    mean absolute difference between the sampler's log-probabilities and the trainer's own
approx_kl           mean of exp(d) - d - 1 with d = current - sampler's: how far the weights moved since sampling
kl_to_start         the same against the frozen start model; mean over the steps that have a KL term
entropy             of the trainer's distribution
token_loss          mean cross-entropy of the trained tokens
tokens, rows        rows of the update and their tokens, prompts included
packed_tokens       tokens that were computed after rows were merged by their prefixes (``prefix_packing``)
tokens_per_second   ``tokens`` over the time of the whole update
=================== ====================================================================================
"""

from __future__ import annotations

from collections import defaultdict

from torch import Tensor

from spadework.policies.base import Metrics
from spadework.policies.hyperparameters import ALL_ROLES


class UpdateMetrics:
    """Sums over one process's packs of an update; those of several processes are merged."""

    def __init__(self) -> None:
        self._loss = 0.0
        self._packed = 0
        self._largest_weight = 0.0
        self._sums: dict[str, float] = defaultdict(float)
        self._counts: dict[str, int] = defaultdict(int)
        self._norms: Metrics = {}

    def add(self, **values: Tensor) -> None:
        """Add values of tokens, [M] each, to the mean of their name."""
        for name, value in values.items():
            self._sums[name] += float(value.detach().sum())
            self._counts[name] += len(value)

    def add_pack(self, loss: Tensor, packed: int) -> None:
        """Add a pack's loss and the number of tokens that were computed for it."""
        self._loss += float(loss.detach())
        self._packed += packed

    def add_weights(self, weights: Tensor) -> None:
        """Add importance weights [M] to their mean and their maximum."""
        self.add(importance_mean=weights)
        if len(weights):
            self._largest_weight = max(self._largest_weight, float(weights.max()))

    def set_norm(self, role: str, norm: float) -> None:
        """Note the gradient's norm at an optimiser step, which is the same on all processes."""
        self._norms["grad_norm"] = norm
        if role != ALL_ROLES:
            self._norms[f"grad_norm_{role}"] = norm

    def merge(self, other: UpdateMetrics) -> None:
        """Add another process's."""
        self._loss += other._loss
        self._packed += other._packed
        self._largest_weight = max(self._largest_weight, other._largest_weight)
        for name, total in other._sums.items():
            self._sums[name] += total
            self._counts[name] += other._counts[name]
        self._norms |= other._norms

    def metrics(self) -> Metrics:
        """All figures but those of ``tokens``, ``rows`` and time."""
        means = {name: total / max(self._counts[name], 1) for name, total in self._sums.items()}
        return {
            "loss": self._loss,
            "grad_norm": 0.0,
            **self._norms,
            **means,
            "importance_max": self._largest_weight,
            "packed_tokens": float(self._packed),
        }
