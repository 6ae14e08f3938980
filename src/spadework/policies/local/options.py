"""How a model is run in this process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

from spadework.policies.local.models import resolve_dtype


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """How a model is run in this process."""

    slots: int = 32
    """Rows sampled at once."""
    parked: int = 64
    """Further rows of keys and values, kept for the next turn of a chat and for common prefixes."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of sampling and of the matrix products of training; ``auto`` takes bfloat16 where the hardware multiplies it."""
    threads: int = 0
    """CPU threads; 0 for the choice of ``models.use_threads``."""
    device: str = "cpu"
    lora_rank: int = 0
    """0 trains all weights."""
    deterministic: bool = False
    """Batches depend on who takes part (``Policy.attend``) and never on timing."""
    max_length: int = 2048
    """Longest row in tokens, prompt and reply together; never more than the model reads."""
    micro_batch_tokens: int = 1024
    """Tokens of one forward and backward pass of training, after rows were merged by their common prefixes."""
    shard: bool = False
    """Divide weights, gradients and moments among the processes that train; needs torchrun."""

    @property
    def torch_dtype(self) -> torch.dtype:
        """What ``dtype`` comes to on this machine."""
        return resolve_dtype(self.dtype)
