"""Grammar-bound decoding through llguidance: which tokens may come next. ``sampling`` knows nothing of it: forbidden
tokens have the logit -inf.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from spadework.errors import ConfigError


class Grammars:
    """Compiles Lark grammars for one tokenizer, whose table is built with the first grammar."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._table: Any = None
        self._compiled: dict[str, str] = {}

    def matcher(self, grammar: str) -> Matcher:
        """A matcher for one reply. Raises ``ConfigError`` if llguidance is missing or the grammar is wrong."""
        try:
            import llguidance
            import llguidance.hf
        except ImportError as error:
            raise ConfigError("Grammar-bound decoding needs llguidance: pip install 'spadework[local]'") from error
        if self._table is None:
            self._table = llguidance.hf.from_tokenizer(self._tokenizer)
        if grammar not in self._compiled:
            self._compiled[grammar] = llguidance.LLMatcher.grammar_from_lark(grammar)
        matcher = llguidance.LLMatcher(self._table, self._compiled[grammar])
        if matcher.is_error():
            raise ConfigError(f"The grammar cannot be used: {matcher.get_error()}")
        return Matcher(matcher, self._table.vocab_size)


class Matcher:
    """The state of one reply in its grammar."""

    def __init__(self, matcher: Any, vocabulary: int) -> None:
        self._matcher = matcher
        self._bits = torch.empty((1, -(-vocabulary // 32)), dtype=torch.int32)

    def restrict(self, logits: Tensor) -> None:
        """Set the logits [vocabulary] of forbidden tokens to -inf, in place."""
        import llguidance.torch

        llguidance.torch.fill_next_token_bitmask(self._matcher, self._bits, 0)
        # One bit a token, packed into 32-bit words. The model's vocabulary may be padded beyond the tokenizer's.
        allowed = ((self._bits[0][:, None] >> torch.arange(32, dtype=torch.int32)) & 1).bool().flatten()
        width = logits.shape[-1]
        mask = torch.zeros(width, dtype=torch.bool)
        mask[: min(width, len(allowed))] = allowed[:width]
        logits.masked_fill_(~mask.to(logits.device), -torch.inf)

    def accept(self, token: int) -> bool:
        """Go on by a sampled token; returns whether the grammar is at its end, so that nothing can follow."""
        self._matcher.consume_token(token)
        return bool(self._matcher.is_stopped())
