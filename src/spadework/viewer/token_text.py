"""The text of single tokens, for people to look at: needs the tokenizer of a run's model and never its weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from spadework.errors import ConfigError
from spadework.testing.scripted import END, FIRST_ROLE, ROLES

TokenTexts = Callable[[Sequence[int]], list[str]]


def token_texts(name: str) -> TokenTexts | None:
    """Ids -> texts for a model by name; ``None`` when its tokenizer is not on this machine. Asks no network."""
    if name == "scripted":
        return _byte_texts
    try:
        from transformers import AutoTokenizer

        from spadework.policies.local.models import TINY, model_source
        from spadework.policies.local.tiny import build_byte_tokenizer

        if name == TINY:
            tokenizer = build_byte_tokenizer()
        else:
            tokenizer = AutoTokenizer.from_pretrained(model_source(name), local_files_only=True)
    except (ImportError, OSError, ValueError, ConfigError):
        return None

    def texts(tokens: Sequence[int]) -> list[str]:
        return [str(text) for text in tokenizer.batch_decode([[token] for token in tokens])]

    return texts


def _byte_texts(tokens: Sequence[int]) -> list[str]:
    """Of the scripted policy's bytes; those of one character stand together, on the first of them."""
    marks = {END: "⟨end⟩", **{FIRST_ROLE + place: f"⟨{role}⟩" for place, role in enumerate(ROLES)}}
    texts = [""] * len(tokens)
    start = 0
    for place in range(1, len(tokens) + 1):
        if place == len(tokens) or not 0x80 <= tokens[place] < 0xC0:
            first = tokens[start]
            texts[start] = marks.get(first) or bytes(tokens[start:place]).decode(errors="replace")
            start = place
    return texts
