"""``LocalOptions``: how a model is run in this process, for sampler and trainer alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

from spadework.policies.local.models import resolve_dtype


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """How a model is run in this process; ``build`` makes it from ``[model]`` and ``[run]``."""

    slots: int = 32
    """The most replies in progress at once."""
    parked: int = 64
    """Further rows of the key/value cache, kept for the next turn of a chat and for common prefixes."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """The type of sampling and of the matrix products of training; ``auto`` is ``models.resolve_dtype``'s choice."""
    threads: int = 0
    """CPU threads; 0 leaves the choice to ``models.use_threads``."""
    device: str = "cpu"
    lora_rank: int = 0
    """0 trains all weights."""
    deterministic: bool = False
    """Whether batches depend only on who takes part (``Policy.attend``) and not on timing."""
    max_length: int = 2048
    """Longest row in tokens, prompt and reply together; ``models.check_model`` lowers it to what the model reads."""
    micro_batch_tokens: int = 1024
    """Tokens of one forward and backward pass of training, after rows were merged by their common prefixes."""
    shard: bool = False
    """Divide weights, gradients and moments among the processes that train; needs torchrun."""

    @property
    def torch_dtype(self) -> torch.dtype:
        """The type that ``dtype`` stands for on this machine."""
        return resolve_dtype(self.dtype)
