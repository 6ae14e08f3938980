"""Ranks above 0: each holds the model and carries out what rank 0 orders, without a sampler, a store or a sandbox."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Any, cast

from torch import Tensor

from spadework.policies.local.distributed import LOAD, Ranks
from spadework.policies.local.models import load_model, use_threads, with_adapter
from spadework.policies.local.options import LocalOptions
from spadework.policies.local.training.trainer import LocalTrainer, SyncedPolicy


def run_worker(ranks: Ranks) -> None:
    """Carry out what rank 0 orders, until it ends.

    Ctrl-C and SIGTERM reach every process of torchrun. They are ignored here, since rank 0 decides what they mean.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    trainer: Any = None
    for name, arguments in ranks.orders():
        if name == LOAD:
            trainer = _load(ranks, *arguments)
        else:
            getattr(trainer, name)(*arguments)


def _load(ranks: Ranks, name: str, run_seed: int, options: LocalOptions) -> LocalTrainer:
    model: Any = load_model(name, seed=run_seed).model.to(options.device)
    use_threads(model, options.threads)
    if options.lora_rank:
        model = with_adapter(model, options.lora_rank, run_seed)
    policy = cast(SyncedPolicy, _VersionOnly())
    return LocalTrainer(model, policy, options, lambda: load_model(name, seed=run_seed), ranks)


class _VersionOnly:
    """The part of a ``SyncedPolicy`` that a trainer calls, for a process that does not sample."""

    version = 0

    def set_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Nothing samples with them here."""

    def set_version(self, version: int) -> None:
        """Remember it: checkpoints carry it."""
        self.version = version
