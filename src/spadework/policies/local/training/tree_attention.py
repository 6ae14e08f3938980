"""Attention inside a pack of rows merged into a tree (``prefix_packing``): every token sees its ancestors and itself.

Queries are taken in blocks of consecutive nodes. The tree is in depth-first order, so the tokens of a block have few
ancestors outside of it, and each block reads those keys alone. The cost is therefore about that of the separate rows,
and not the square of the pack's length.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

ATTENTION = "spadework_tree"
_BLOCK = 128


class TreePass:
    """Which keys each block of queries reads; made once a pack, for all layers.

    Args:
        ends: [N]: the nodes i <= j < ends[i] are node i and all nodes below it.
        groups: Query heads that share a key/value head.
        dtype: The type that attention is computed in.
    """

    def __init__(self, ends: Tensor, groups: int, dtype: torch.dtype) -> None:
        self.dtype = dtype
        nodes = torch.arange(len(ends), device=ends.device)
        self.blocks: list[tuple[slice, Tensor | slice, Tensor]] = []
        for start in range(0, len(ends), _BLOCK):
            stop = min(start + _BLOCK, len(ends))
            # Node j sees node i if i comes no later, and j is inside the subtree of i.
            queries = nodes[start:stop, None]
            seen = (nodes[:stop] <= queries) & (queries < ends[:stop])
            keys = seen.any(dim=0).nonzero()[:, 0]
            first = int(keys[0])
            # Keys without a gap between them are a view; others are copied in every layer.
            selection: Tensor | slice = slice(first, stop) if stop - first == len(keys) else keys
            # Added to the scores: 0 or -inf. Torch would make it from a Boolean mask anew in every layer.
            bias = seen[:, keys].to(dtype).log().repeat(groups, 1)
            self.blocks.append((slice(start, stop), selection, bias))


def tree_attention(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: Any
) -> tuple[Tensor, None]:
    """Attention in the form that transformers calls, for batch size 1; ``tree`` in ``options`` is the ``TreePass``."""
    tree: TreePass = options["tree"]
    heads, kind = key.shape[1], key.device.type
    query, key, value = (tensor.to(tree.dtype) for tensor in (query, key, value))
    parts = []
    with torch.autocast(kind, enabled=False):
        for queries, keys, bias in tree.blocks:
            # Query heads that share a key/value head are folded into the query tokens, so keys are never repeated.
            folded = query[:, :, queries].reshape(1, heads, -1, query.shape[-1])
            out = functional.scaled_dot_product_attention(
                folded, key[:, :, keys], value[:, :, keys], attn_mask=bias, scale=options.get("scaling")
            )
            parts.append(out.reshape(1, query.shape[1], -1, out.shape[-1]))
    return torch.cat(parts, dim=2).transpose(1, 2), None
