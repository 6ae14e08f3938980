"""One forward pass of a pack through the model, as a module of its own: the trainer differentiates it, and FSDP2 shards
it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from spadework.policies.local.training.losses import target_logprobs
from spadework.policies.local.training.prefix_packing import PackTensors
from spadework.policies.local.training.tree_attention import ATTENTION, TreePass, tree_attention


class TargetPass(nn.Module):
    """Maps a pack to the log-probabilities and entropies, [M] each, of its trained tokens, in single precision.

    Args:
        model: A causal language model, or one with an adapter. Its attention is replaced by ``tree_attention``.
        dtype: The type of the matrix products.
    """

    def __init__(self, model: Any, dtype: torch.dtype) -> None:
        from transformers import AttentionInterface

        super().__init__()
        AttentionInterface.register(ATTENTION, tree_attention)
        model.get_decoder().config._attn_implementation = ATTENTION
        config = model.config.get_text_config()
        self.model = model
        self._dtype = dtype
        self._groups = config.num_attention_heads // (config.num_key_value_heads or config.num_attention_heads)

    def forward(self, pack: PackTensors) -> tuple[Tensor, Tensor]:
        """See the class."""
        # On a CPU attention is faster in single precision: .5 of bfloat16's time at 16 dimensions a head, .8 at 64.
        dtype = torch.float32 if pack.tokens.device.type == "cpu" else self._dtype
        with torch.autocast(pack.tokens.device.type, torch.bfloat16, enabled=self._dtype == torch.bfloat16):
            hidden = self.model.get_decoder()(
                input_ids=pack.tokens,
                position_ids=pack.depths,
                # Our attention reads the tree, not this: a mask of four dimensions keeps transformers from making one.
                attention_mask=pack.ends[None, None, None],
                use_cache=False,
                tree=TreePass(pack.ends, self._groups, dtype),
            ).last_hidden_state[0]
            head = self.model.get_output_embeddings()
            return target_logprobs(hidden[pack.nodes], head, pack.targets, pack.temperatures)
