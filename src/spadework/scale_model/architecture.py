"""Architecture, tokenizer and chat template of the scale model, all in plain Hugging Face classes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

VOCABULARY = 1536
_SPECIAL = ("<|pad|>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>")
_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
_ALONE = r"[0-9]|[A-Z](?![a-z])"
"""Digits and single capitals are tokens of their own, so that the model writes a state mark by mark."""


def build_model(vocabulary: int, seed: int) -> Any:
    """An untrained ``LlamaForCausalLM`` drawn from ``seed``, in float32."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=128,
        intermediate_size=448,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=_SPECIAL.index("<|end|>"),
        pad_token_id=_SPECIAL.index("<|pad|>"),
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return LlamaForCausalLM(config)


def build_tokenizer(texts: Iterable[str]) -> Any:
    """Byte-pair encoding fitted to ``texts``, with the chat template. Tokens span words and lines."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_ALONE), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[AddedToken(token, special=True) for token in _SPECIAL],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        min_frequency=20,
        show_progress=False,
    )
    core.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<|end|>", pad_token="<|pad|>")
    tokenizer.chat_template = _TEMPLATE
    return tokenizer


def write_model(folder: Path, model: Any, tokenizer: Any) -> None:
    """Write a Hugging Face folder in bfloat16, aside and renamed. ``model`` itself is converted to bfloat16."""
    aside = folder.with_name(f".{folder.name}.part")
    model.to(torch.bfloat16).save_pretrained(aside)
    tokenizer.save_pretrained(aside)
    aside.replace(folder)
