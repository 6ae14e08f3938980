"""AdamW over one set of weights: with one set of moments, or with one for each role that takes steps of its own.

Adam divides a step by the running size of the gradient. When two roles share the moments, the role with the larger
gradient sets that size and shrinks the steps of the other; with moments of its own, each role moves the weights by its
own learning rate.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import torch
from torch import Tensor, nn

from spadework.policies.base import Hyperparameters, RoleStep
from spadework.policies.local.distributed import part_like, whole, whole_on_first

Moments = dict[str, dict[str, Tensor]]
"""State of AdamW: by the name of the weight, then by the name of the state."""


class Optimizers:
    """An AdamW for each role, made when the role first takes a step; all of them move the same weights.

    Args:
        weights: The trained weights by name. Vectors and biases do not decay.
    """

    def __init__(self, weights: Mapping[str, nn.Parameter]) -> None:
        self._weights = weights
        self._by_role: dict[str, torch.optim.AdamW] = {}

    def reset(self) -> None:
        """Forget all moments."""
        self._by_role.clear()

    def keep(self, roles: Collection[str]) -> None:
        """Forget the moments of all other roles, e.g. those that a run had before ``update.by_role`` was turned on."""
        for role in self._by_role.keys() - set(roles):
            del self._by_role[role]

    def step(self, step: RoleStep, hp: Hyperparameters) -> float:
        """Move the weights by their gradients and clear these; returns the gradient's norm before clipping."""
        optimizer = self._of(step.role)
        for group in optimizer.param_groups:
            group.update(lr=step.lr, betas=hp.betas, weight_decay=hp.weight_decay if group["decays"] else 0.0)
        norm = float(whole(nn.utils.clip_grad_norm_(self._weights.values(), hp.grad_clip)))
        optimizer.step()
        self.clear_gradients()
        return norm

    def clear_gradients(self) -> None:
        """Forget the gradients, also those of a step that was given up halfway."""
        for weight in self._weights.values():
            weight.grad = None

    def moments(self) -> dict[str, Moments]:
        """The moments by role, whole and on rank 0 alone. Every rank must call it."""
        found: dict[str, Moments] = {}
        for role, optimizer in self._by_role.items():
            moments: Moments = {}
            for name, weight in self._weights.items():
                state = optimizer.state.get(weight, {})
                moments[name] = {key: whole_on_first(value) for key, value in state.items()}
            found[role] = moments
        return found

    def load(self, saved: Mapping[str, Moments]) -> None:
        """Replace all moments by what ``moments`` returned."""
        self.reset()
        for role, moments in saved.items():
            optimizer = self._of(role)
            for name, state in moments.items():
                weight = self._weights[name]
                optimizer.state[weight] = {
                    key: part_like(value.to(weight.device), weight) for key, value in state.items()
                }

    def _of(self, role: str) -> torch.optim.AdamW:
        if role not in self._by_role:
            decayed = [weight for weight in self._weights.values() if weight.ndim > 1]
            others = [weight for weight in self._weights.values() if weight.ndim <= 1]
            groups = [{"params": decayed, "decays": True}, {"params": others, "decays": False}]
            self._by_role[role] = torch.optim.AdamW([group for group in groups if group["params"]], fused=True)
        return self._by_role[role]
