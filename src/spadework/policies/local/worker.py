"""Ranks above 0: they hold the model and do as rank 0 orders, without a sampler, a store or a sandbox."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Any, cast

from torch import Tensor

from spadework.policies.local.distributed import LOAD, Ranks
from spadework.policies.local.models import load_model, use_threads, with_adapter
from spadework.policies.local.options import LocalOptions
from spadework.policies.local.speaker import Speaker
from spadework.policies.local.trainer import LocalTrainer


def follow(ranks: Ranks) -> None:
    """Carry out what rank 0 orders, until it leaves. Ctrl-C reaches every process, and rank 0 decides what it means."""
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
    mute = cast(Speaker, _Mute())
    return LocalTrainer(model, mute, options, lambda: load_model(name, seed=run_seed), ranks)


class _Mute:
    """The part of a ``Speaker`` that a trainer needs, for a process in which nobody speaks."""

    version = 0

    def set_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Nobody speaks with them."""

    def set_version(self, version: int) -> None:
        """Remember it."""
        self.version = version
