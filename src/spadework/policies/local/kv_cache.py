"""Keys and values of many rows, each with its own length, and the attention that reads them.

Rows live in *slots*: row ``r`` of the buffers holds the keys and values of its tokens at columns 0, 1, 2, ... A forward
pass gives each of its rows some new tokens (one while decoding, many while reading a prompt); they are written at their
positions, and a query sees the columns up to its own. So no row is ever padded, moved or masked because of another.

It plugs into transformers as an attention function, which needs no cache class of theirs.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

ATTENTION = "spadework_slots"


class SlotCache:
    """Buffers of shape [layers, rows, key/value heads, columns, head size], made when the first layer first runs.

    On a CPU memory is only taken for columns that were written.
    """

    def __init__(self, layers: int, rows: int, columns: int) -> None:
        self.columns = columns
        self._layers = layers
        self._rows = rows
        self._buffers: tuple[Tensor, Tensor] | None = None

    def layer(self, index: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Buffers of a layer; ``key`` and ``value`` are [rows of the pass, heads, new tokens, head size]."""
        if self._buffers is None:
            self._buffers = (self._zeros(key), self._zeros(value))
        return self._buffers[0][index], self._buffers[1][index]

    def copy(self, source: int, target: int, columns: int) -> None:
        """Make the first ``columns`` of row ``target`` those of row ``source``."""
        for buffer in self._buffers or ():
            buffer[:, target, :, :columns].copy_(buffer[:, source, :, :columns])

    def _zeros(self, like: Tensor) -> Tensor:
        """Zeros: masked columns must be finite, so never ``empty``. One column more takes the padding's writes."""
        shape = (self._layers, self._rows, like.shape[1], self.columns + 1, like.shape[3])
        if like.device.type != "cpu":
            return torch.zeros(shape, dtype=like.dtype, device=like.device)
        # An anonymous mapping is zero, and takes memory page by page as it is written.
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
        memory = mmap.mmap(-1, like.element_size() * math.prod(shape), flags=flags)
        return torch.frombuffer(memory, dtype=like.dtype).view(shape)


class SlotPass:
    """What one forward pass needs to know: which rows get which new tokens.

    Args:
        cache: The buffers.
        rows: Slot of each row of the pass, ascending.
        starts: Columns that each row holds already.
        counts: New tokens of each row; the pass is padded to the most.
        device: Where the model runs.
    """

    def __init__(
        self, cache: SlotCache, rows: Sequence[int], starts: Sequence[int], counts: Sequence[int], device: torch.device
    ) -> None:
        self._cache = cache
        width = max(counts)
        self._columns = max(start + count for start, count in zip(starts, counts, strict=True))
        steps = torch.arange(width)
        start = torch.tensor(starts)[:, None]
        real = steps < torch.tensor(counts)[:, None]
        self.positions = torch.where(real, start + steps, 0).to(device)
        # Padding is written to a spare last column that nobody reads.
        self._targets = torch.where(real, start + steps, cache.columns).to(device)
        self._index = torch.tensor(rows, device=device)
        contiguous = rows[-1] - rows[0] == len(rows) - 1
        self._selection: slice | Tensor = slice(rows[0], rows[-1] + 1) if contiguous else self._index
        seen = torch.arange(self._columns, device=device) <= self.positions[:, :, None]
        self.mask = seen[:, None]
        self._grouped: dict[int, Tensor] = {}

    def update(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Write the new keys and values; return all of the pass's rows, [rows, heads, columns, head size]."""
        keys, values = self._cache.layer(layer, key, value)
        keys[self._index[:, None], :, self._targets] = key.transpose(1, 2)
        values[self._index[:, None], :, self._targets] = value.transpose(1, 2)
        return keys[self._selection, :, : self._columns], values[self._selection, :, : self._columns]

    def mask_for(self, groups: int, dtype: torch.dtype) -> Tensor:
        """Additive mask [rows, 1, groups * new tokens, columns] for queries whose heads are folded into the tokens."""
        if groups not in self._grouped:
            mask = torch.zeros(self.mask.shape, dtype=dtype, device=self.mask.device)
            mask.masked_fill_(~self.mask, torch.finfo(dtype).min)
            self._grouped[groups] = mask.repeat(1, 1, groups, 1)
        return self._grouped[groups]


def slot_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **options: Any,
) -> tuple[Tensor, None]:
    """Attention in the form that transformers calls; ``slots`` among ``options`` is the ``SlotPass``.

    Query heads that share a key/value head are folded into the query tokens, so keys are read once and never copied.
    """
    slots: SlotPass = options["slots"]
    keys, values = slots.update(module.layer_idx, key, value)
    rows, heads, width, size = query.shape
    groups = heads // keys.shape[1]
    folded = query.reshape(rows, keys.shape[1], groups * width, size)
    out = functional.scaled_dot_product_attention(
        folded, keys, values, attn_mask=slots.mask_for(groups, query.dtype), scale=options.get("scaling")
    )
    return out.reshape(rows, heads, width, -1).transpose(1, 2), None
