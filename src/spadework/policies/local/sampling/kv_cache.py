"""Keys and values of many rows, each of its own length, and the attention that reads them.

Row r of the buffers has the keys and values of its tokens in columns 0, 1, 2, ... A forward pass gives some of the rows
new tokens: one each while decoding, many for a prompt. They are written at their positions, and a query sees the
columns up to its own. So the contents of a row do not depend on the lengths of the others, and nothing is shifted when
a row ends or another begins.

It is used as an attention function of transformers and needs none of its cache classes.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

ATTENTION = "spadework_kv_cache"


class KVCache:
    """Buffers [layers, rows, key/value heads, columns, head size], made by the first pass, which tells their shape.

    On a CPU they take memory only for what was written.
    """

    def __init__(self, layers: int, rows: int, columns: int) -> None:
        self.columns = columns
        self._layers = layers
        self._rows = rows
        self._buffers: tuple[Tensor, Tensor] | None = None

    def layer(self, index: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """The buffers of a layer, shaped and typed like ``key`` and ``value`` [rows, heads, new tokens, head size]."""
        if self._buffers is None:
            self._buffers = (self._zeros(key), self._zeros(value))
        return self._buffers[0][index], self._buffers[1][index]

    def copy(self, source: int, target: int, columns: int) -> None:
        """Make the first ``columns`` of row ``target`` those of row ``source``."""
        for buffer in self._buffers or ():
            buffer[:, target, :, :columns].copy_(buffer[:, source, :, :columns])

    def _zeros(self, like: Tensor) -> Tensor:
        """A buffer of zeros, with one column more, which takes what is written for padding.

        Not ``torch.empty``: a masked column has weight 0, but 0 times NaN is NaN.
        """
        shape = (self._layers, self._rows, like.shape[1], self.columns + 1, like.shape[3])
        if like.device.type != "cpu":
            return torch.zeros(shape, dtype=like.dtype, device=like.device)
        # ``torch.zeros`` would write, and so take, all of it. An anonymous mapping is zero without being written.
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
        memory = mmap.mmap(-1, like.element_size() * math.prod(shape), flags=flags)
        return torch.frombuffer(memory, dtype=like.dtype).view(shape)


class CachedPass:
    """One forward pass over new tokens of some rows: where they are written, and which columns they see.

    Args:
        cache: The buffers.
        rows: The cache row of each row of the pass, ascending.
        starts: Columns that each row has already.
        counts: New tokens of each row; the pass is padded to the largest count.
        device: Where the model runs.
    """

    def __init__(
        self, cache: KVCache, rows: Sequence[int], starts: Sequence[int], counts: Sequence[int], device: torch.device
    ) -> None:
        self._cache = cache
        width = max(counts)
        self._columns = max(start + count for start, count in zip(starts, counts, strict=True))
        steps = torch.arange(width)
        start = torch.tensor(starts)[:, None]
        real = steps < torch.tensor(counts)[:, None]
        # Padding has position 0, so that its queries see one column and their softmax is defined.
        self.positions = torch.where(real, start + steps, 0).to(device)
        # Padding is written to the spare last column, which no query reads.
        self._targets = torch.where(real, start + steps, cache.columns).to(device)
        self._index = torch.tensor(rows, device=device)
        # Adjacent rows are a view of the buffers; others have to be gathered into a copy.
        contiguous = rows[-1] - rows[0] == len(rows) - 1
        self._selection: slice | Tensor = slice(rows[0], rows[-1] + 1) if contiguous else self._index
        seen = torch.arange(self._columns, device=device) <= self.positions[:, :, None]
        self.mask = seen[:, None]
        self._grouped: dict[int, Tensor] = {}

    def update(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Write a layer's new keys and values; returns all of the pass's rows, [rows, heads, columns, head size]."""
        keys, values = self._cache.layer(layer, key, value)
        keys[self._index[:, None], :, self._targets] = key.transpose(1, 2)
        values[self._index[:, None], :, self._targets] = value.transpose(1, 2)
        return keys[self._selection, :, : self._columns], values[self._selection, :, : self._columns]

    def mask_for(self, groups: int, dtype: torch.dtype) -> Tensor:
        """Additive mask [rows, 1, groups * new tokens, columns] for the folded queries of ``cached_attention``.

        It is the same in every layer, so it is made once a pass.
        """
        if groups not in self._grouped:
            mask = torch.zeros(self.mask.shape, dtype=dtype, device=self.mask.device)
            mask.masked_fill_(~self.mask, torch.finfo(dtype).min)
            self._grouped[groups] = mask.repeat(1, 1, groups, 1)
        return self._grouped[groups]


def cached_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **options: Any,
) -> tuple[Tensor, None]:
    """Attention in the form that transformers calls; ``cached`` among ``options`` is the ``CachedPass``.

    With grouped queries, the heads that share a key/value head are folded into the dimension of the query tokens, so
    keys are read once for all of them instead of being repeated.
    """
    cached: CachedPass = options["cached"]
    keys, values = cached.update(module.layer_idx, key, value)
    rows, heads, width, size = query.shape
    groups = heads // keys.shape[1]
    folded = query.reshape(rows, keys.shape[1], groups * width, size)
    out = functional.scaled_dot_product_attention(
        folded, keys, values, attn_mask=cached.mask_for(groups, query.dtype), scale=options.get("scaling")
    )
    return out.reshape(rows, heads, width, -1).transpose(1, 2), None
