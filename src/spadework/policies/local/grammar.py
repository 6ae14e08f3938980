"""Grammar-bound decoding through llguidance: which tokens may come next."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from spadework.errors import ConfigError


class Grammars:
    """Compiles Lark grammars for one tokenizer; the tokenizer's table is built when the first grammar is asked for."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._table: Any = None
        self._compiled: dict[str, str] = {}

    def matcher(self, grammar: str) -> Matcher:
        """A fresh matcher. Raises ``ConfigError`` when llguidance is missing or the grammar is wrong."""
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
    """Where one reply stands in its grammar."""

    def __init__(self, matcher: Any, vocabulary: int) -> None:
        self._matcher = matcher
        self._bits = torch.empty((1, -(-vocabulary // 32)), dtype=torch.int32)

    def restrict(self, logits: Tensor) -> None:
        """Set the logits [vocabulary] of forbidden tokens to -inf, in place."""
        import llguidance.torch

        llguidance.torch.fill_next_token_bitmask(self._matcher, self._bits, 0)
        allowed = ((self._bits[0][:, None] >> torch.arange(32, dtype=torch.int32)) & 1).bool().flatten()
        width = logits.shape[-1]
        mask = torch.zeros(width, dtype=torch.bool)
        mask[: min(width, len(allowed))] = allowed[:width]
        logits.masked_fill_(~mask.to(logits.device), -torch.inf)

    def accept(self, token: int) -> bool:
        """Take a drawn token; whether the grammar is at its end, so that nothing can follow."""
        self._matcher.consume_token(token)
        return bool(self._matcher.is_stopped())
