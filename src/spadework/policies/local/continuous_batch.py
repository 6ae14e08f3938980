"""Continuous batching: a short reply does not wait for a long one, and a shared prefix is read once.

Active rows fill the slots 0 ... n-1. When one ends, the last takes its place, and the next request is admitted at once.
The other rows of the cache keep what was said before: a request starts from the longest prefix that any row holds (the
earlier turns of its chat, the first turn of its group, the system prompt and examples of everyone).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import torch
from torch import Tensor

from spadework.errors import ModelError
from spadework.policies.base import Completion, FinishReason, SamplingParams
from spadework.policies.chat import Template
from spadework.policies.local.grammar import Matcher
from spadework.policies.local.kv_cache import SlotCache, SlotPass
from spadework.policies.local.prefix_index import HeldTokens
from spadework.policies.local.sampling import Uniforms, draw
from spadework.types import Key

_WORTH_WAITING = 32
"""Tokens of a common prefix for which a request lets another one be read first."""
_PASS_TOKENS = 4096
"""Most tokens, padding included, of one pass over prompts."""
_STOP_TAIL = 8
"""Tokens beyond a stop string's length that are decoded to look for it."""


@dataclass(slots=True, eq=False)
class Request:
    """One reply asked for. ``done`` is set when it has ended or when nobody waits for it any more."""

    tokens: tuple[int, ...]
    params: SamplingParams
    key: Key
    matcher: Matcher | None = None
    done: bool = False


Outcome = Completion | ModelError


@dataclass(slots=True, eq=False)
class _Row:
    """A request that is being answered; ``tokens`` are all of its ids, the sampled ones last."""

    request: Request
    uniforms: Uniforms
    tokens: list[int]
    version: int
    """Of the weights that began the reply: staleness is measured from the oldest."""
    logprobs: list[float] = field(default_factory=list)

    @property
    def sampled(self) -> list[int]:
        return self.tokens[len(self.request.tokens) :]


class ContinuousBatch:
    """The rows in work. Not thread-safe: one worker calls it.

    Args:
        model: A transformers causal language model whose attention is ``slots.ATTENTION``.
        template: Decodes replies and knows the stop tokens.
        run_seed: Seeds every request's draws together with its key.
        slots: Rows decoded at once.
        parked: Further rows that only keep what was said.
        max_length: Longest row in tokens.
    """

    def __init__(
        self, model: Any, template: Template, *, run_seed: int, slots: int, parked: int, max_length: int
    ) -> None:
        self._decoder = model.get_decoder()
        self._head = model.get_output_embeddings()
        self._layers = model.config.get_text_config().num_hidden_layers
        self._device = next(model.parameters()).device
        self._template = template
        self._run_seed = run_seed
        self._slots = slots
        self._total = slots + parked
        self._max_length = max_length
        self._clock = count(1)
        self._rows: list[_Row] = []
        self.version = 0
        self.generated = 0
        self.clear()

    def clear(self) -> None:
        """Forget all keys and values (the weights changed)."""
        self._cache = SlotCache(self._layers, self._total, self._max_length)
        self._held = HeldTokens(self._total, self._max_length)
        self._used = [0] * self._total

    @property
    def active(self) -> int:
        """Rows in work."""
        return len(self._rows)

    @property
    def free(self) -> int:
        """Slots without a row."""
        return self._slots - len(self._rows)

    @torch.inference_mode()
    def step(self, admitted: Sequence[Request]) -> list[tuple[Request, Outcome]]:
        """Read the prompts of ``admitted`` (at most ``free``), then draw one more token for every row in work."""
        self._compact()
        outcomes = self._admit([request for request in admitted if not request.done])
        # One token each; after ``clear`` in the middle of replies, all of them again.
        fresh = [row.tokens[self._held.length(slot) :] for slot, row in enumerate(self._rows)]
        outcomes += self._advance(0, fresh)
        self._compact()
        return outcomes

    def abort(self) -> list[Request]:
        """Forget all rows in work after an error; returns their requests."""
        requests = [row.request for row in self._rows]
        self._rows = []
        self.clear()
        return requests

    def _admit(self, requests: Sequence[Request]) -> list[tuple[Request, Outcome]]:
        """Read prompts, those that others can start from first, and draw the first token of each."""
        outcomes: list[tuple[Request, Outcome]] = []
        pending = []
        for request in requests:
            if len(request.tokens) < self._max_length:
                pending.append(request)
            else:
                outcomes.append((request, _too_long(len(request.tokens), self._max_length)))
        while pending:
            now, pending = self._choose(pending)
            first = len(self._rows)
            fresh = []
            for request in now:
                tokens = list(request.tokens)
                held = self._place(len(self._rows), tokens)
                self._rows.append(_Row(request, Uniforms(self._run_seed, request.key), tokens, self.version))
                fresh.append(tokens[held:])
            outcomes += self._advance(first, fresh)
        self._compact()
        return outcomes

    def _advance(self, first: int, fresh: Sequence[Sequence[int]]) -> list[tuple[Request, Outcome]]:
        """Feed new tokens to the slots from ``first`` on and draw one token for each."""
        outcomes: list[tuple[Request, Outcome]] = []
        for start, stop in _spans([len(tokens) for tokens in fresh]):
            slots = range(first + start, first + stop)
            outcomes += self._draw(slots, self._forward(slots, fresh[start:stop]))
        return outcomes

    def _choose(self, pending: Sequence[Request]) -> tuple[list[Request], list[Request]]:
        """Those to read now, and those that gain by waiting for the prefix of one of them."""
        now: list[Request] = []
        later: list[Request] = []
        for request in pending:
            held = int(self._held.common(request.tokens).max())
            shared = max((_common(request.tokens, other.tokens) for other in now), default=0)
            (later if shared >= held + _WORTH_WAITING else now).append(request)
        return now, later

    def _place(self, slot: int, tokens: list[int]) -> int:
        """Give ``slot`` the longest held prefix of ``tokens``; returns its length, short of the whole."""
        self._keep(slot, tokens)
        lengths = self._held.common(tokens)
        source = slot if lengths[slot] == lengths.max() else int(lengths.argmax())
        length = min(int(lengths[source]), len(tokens) - 1)
        self._copy(source, slot, length)
        return length

    def _keep(self, slot: int, tokens: list[int]) -> None:
        """Before ``slot`` is overwritten: move what it holds to the row that was unused for longest, unless it fits."""
        length = self._held.length(slot)
        if length - int(self._held.common(tokens)[slot]) < _WORTH_WAITING:
            return
        oldest = min(range(self._slots, self._total), key=self._used.__getitem__, default=slot)
        if self._used[oldest] < self._used[slot]:
            self._copy(slot, oldest, length)
            self._used[oldest] = self._used[slot]

    def _copy(self, source: int, target: int, length: int) -> None:
        if source != target and length:
            self._cache.copy(source, target, length)
        self._held.copy(source, target, length)
        self._used[source] = self._used[target] = next(self._clock)

    def _compact(self) -> None:
        """Close the gaps that finished rows left, from the last row in work."""
        slot = 0
        while slot < len(self._rows):
            if not self._rows[slot].request.done:
                slot += 1
                continue
            last = len(self._rows) - 1
            if slot != last:
                self._keep(slot, [])
                self._copy(last, slot, self._held.length(last))
                self._held.forget(last)
            self._rows[slot] = self._rows[last]
            self._rows.pop()

    def _forward(self, slots: range, fresh: Sequence[Sequence[int]]) -> Tensor:
        """Feed new tokens to some slots; logits [slots, vocabulary] after the last of each, single precision."""
        counts = [len(tokens) for tokens in fresh]
        view = SlotPass(self._cache, slots, [self._held.length(slot) for slot in slots], counts, self._device)
        width = max(counts)
        ids = torch.tensor([[*tokens, *[0] * (width - len(tokens))] for tokens in fresh], device=self._device)
        hidden = self._decoder(
            input_ids=ids, attention_mask=view.mask, position_ids=view.positions, use_cache=False, slots=view
        ).last_hidden_state
        for slot, tokens in zip(slots, fresh, strict=True):
            self._held.extend(slot, tokens)
            self._used[slot] = next(self._clock)
        last = torch.tensor(counts, device=self._device) - 1
        logits: Tensor = self._head(hidden[torch.arange(len(counts), device=self._device), last])
        return logits.float()

    def _draw(self, slots: range, logits: Tensor) -> list[tuple[Request, Outcome]]:
        """Draw a token for each of the slots; the outcomes of the rows that this ends."""
        rows = [self._rows[slot] for slot in slots]
        for index, row in enumerate(rows):
            if row.request.matcher is not None:
                row.request.matcher.restrict(logits[index])
        tokens, logprobs = draw(logits, [row.request.params for row in rows], [row.uniforms.next() for row in rows])
        outcomes: list[tuple[Request, Outcome]] = []
        for row, token, logprob in zip(rows, tokens, logprobs, strict=True):
            if not math.isfinite(logprob):
                outcomes.append((row.request, ModelError("NOT_FINITE", "the model's logits are not finite")))
            else:
                row.tokens.append(token)
                row.logprobs.append(logprob)
                reason = self._finish_reason(row, token)
                if reason:
                    outcomes.append((row.request, self._complete(row, reason)))
        for request, _ in outcomes:
            request.done = True
        self.generated += len(rows)
        return outcomes

    def _finish_reason(self, row: _Row, token: int) -> FinishReason | None:
        request = row.request
        ended = request.matcher.accept(token) if request.matcher is not None else False
        if ended or token in self._template.stop_tokens or self._at_stop_string(row):
            return "stop"
        if len(row.logprobs) >= request.params.max_tokens or len(row.tokens) >= self._max_length:
            return "length"
        return None

    def _at_stop_string(self, row: _Row) -> bool:
        stops = row.request.params.stop
        if not stops:
            return False
        tail = self._template.decode(row.sampled[-(max(map(len, stops)) + _STOP_TAIL) :])
        return any(stop in tail for stop in stops)

    def _complete(self, row: _Row, reason: FinishReason) -> Completion:
        sampled = row.sampled
        text = self._template.decode(sampled[:-1] if sampled[-1] in self._template.stop_tokens else sampled)
        return Completion(text, tuple(sampled), tuple(row.logprobs), reason, row.version)


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """Length of the common prefix, found by halving: comparing slices is fast."""
    low, high = 0, min(len(one), len(other))
    one, other = list(one[:high]), list(other[:high])
    if one == other:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _spans(lengths: Sequence[int]) -> list[tuple[int, int]]:
    """Split consecutive rows into passes of at most ``_PASS_TOKENS`` padded tokens (or a single row)."""
    spans = []
    start = 0
    for stop in range(1, len(lengths) + 1):
        following = lengths[start : stop + 1]
        if stop == len(lengths) or max(following) * len(following) > _PASS_TOKENS:
            spans.append((start, stop))
            start = stop
    return spans


def _too_long(length: int, limit: int) -> ModelError:
    return ModelError("TOO_LONG", f"a prompt of {length} tokens leaves no room for a reply in rows of {limit}")
