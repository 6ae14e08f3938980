"""Refuse, before anything is sampled, a model whose weights, keys and values do not fit the device."""

from __future__ import annotations

import os
from typing import Any

import torch

from spadework.errors import ConfigError
from spadework.policies.local.options import LocalOptions


def check_fits(model: Any, options: LocalOptions, max_length: int, *, available: int | None = None) -> None:
    """Compare what sampler and trainer will hold with the memory of the device, activations left out.

    A GPU allocates the cache of keys and values at once. On a CPU rows take memory as they are written, so only those
    of the replies in progress are counted.

    Args:
        model: The model, with the sizes of its attention in ``config``.
        options: How it is run.
        max_length: The longest row in tokens.
        available: Bytes of the device; by default they are asked for.

    Raises:
        ConfigError: It does not fit; the message names the settings that make it smaller.
    """
    on_gpu = options.device != "cpu"
    rows = options.slots + (options.parked if on_gpu else 0)
    cache = rows * (max_length + 1) * cache_bytes_a_token(model, options.torch_dtype)
    count = sum(parameter.numel() for parameter in model.parameters())
    weights = count * (4 + options.torch_dtype.itemsize)
    training = 0 if options.lora_rank or options.shard else 12 * count
    needed = cache + weights + training
    total = device_memory(options.device) if available is None else available
    if needed <= total:
        return
    parts = {"keys and values": cache, "weights": weights, "gradients and moments": training}
    shown = ", ".join(f"{name} {size / 2**30:.1f} GiB" for name, size in parts.items() if size)
    raise ConfigError(
        f"the model does not fit {options.device}, which has {total / 2**30:.1f} GiB: it needs "
        f"{needed / 2**30:.1f} GiB beside activations ({shown}, for {rows} rows of {max_length} tokens). Lower "
        'model.slots, model.parked or model.max_length, set model.lora_rank, or let sampler.type = "server" sample'
    )


def cache_bytes_a_token(model: Any, dtype: torch.dtype) -> int:
    """Bytes of a token's keys and values over all layers."""
    config = model.config.get_text_config()
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return int(2 * config.num_hidden_layers * heads * size * dtype.itemsize)


def device_memory(device: str) -> int:
    """All memory of a device in bytes, used or not."""
    if device == "cpu":
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return int(torch.cuda.get_device_properties(device).total_memory)
