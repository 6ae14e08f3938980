"""Continuous batching: a short reply does not wait for a long one, and a shared prefix is computed once.

The key/value cache has ``slots + parked`` rows. The replies in progress are in rows 0 ... n-1, so a decoding step reads
one slice of the cache. When a reply ends, the last one moves into its row, and the next request is admitted at once.

All other rows are kept for their prefixes. A new prompt starts from the row that shares the longest prefix with it: the
earlier turns of its chat, the first turn of its group, or the system prompt and examples that all chats have. Only the
rest of the prompt is computed.

Nothing here waits or is asynchronous: ``sampler`` queues requests and calls ``step``.
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
from spadework.policies.local.sampling.grammar import Matcher
from spadework.policies.local.sampling.kv_cache import CachedPass, KVCache
from spadework.policies.local.sampling.prefix_index import PrefixIndex, shared_length
from spadework.policies.local.sampling.tokens import Uniforms, sample_tokens
from spadework.types import Key

_MIN_REUSE = 32
"""The shortest prefix that is worth a copy of a cache row, or a pass of its own before the prompts that share it."""
_PASS_TOKENS = 4096
"""The most tokens, padding included, of one forward pass over prompts."""
_STOP_TAIL = 8
"""To look for a stop string of n characters, the last n + 8 tokens are decoded: a token has at least one character,
except where a character is split over several tokens."""


@dataclass(slots=True, eq=False)
class Request:
    """A request for one reply. ``done`` is set when the reply has ended, or when its caller has stopped waiting."""

    tokens: tuple[int, ...]
    params: SamplingParams
    key: Key
    matcher: Matcher | None = None
    done: bool = False


Outcome = Completion | ModelError


@dataclass(slots=True, eq=False)
class _Row:
    """A reply in progress. ``tokens`` are the prompt's ids and then the sampled ones."""

    request: Request
    uniforms: Uniforms
    tokens: list[int]
    version: int
    """The version of the weights that sampled the first token. A reply is as stale as its oldest weights."""
    logprobs: list[float] = field(default_factory=list)

    @property
    def sampled(self) -> list[int]:
        return self.tokens[len(self.request.tokens) :]


class ContinuousBatch:
    """The replies in progress and the cache that they share. Not thread-safe: one worker thread calls it.

    Args:
        model: A transformers causal language model whose attention is ``kv_cache.ATTENTION``.
        template: Decodes replies and knows the stop tokens.
        run_seed: Seeds the sampling of every request, together with the request's key.
        slots: The most replies in progress.
        parked: Further rows of the cache, which only keep prefixes.
        max_length: Longest row in tokens, prompt and reply together.
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
        """Numbers that say which row of the cache was used before which; see ``_last_used``."""
        self._rows: list[_Row] = []
        """The reply in slot i, for i = 0 ... n-1: its keys and values are in row i of the cache."""
        self.version = 0
        """Version of the weights."""
        self.generated = 0
        """Tokens that were sampled since the start."""
        self.clear()

    def clear(self) -> None:
        """Forget all keys and values, since the weights changed. Replies in progress are computed again and go on."""
        self._cache = KVCache(self._layers, self._total, self._max_length)
        self._prefixes = PrefixIndex(self._total, self._max_length)
        self._last_used = [0] * self._total

    @property
    def active(self) -> int:
        """Replies in progress."""
        return len(self._rows)

    @property
    def free(self) -> int:
        """Requests that can be admitted now."""
        return self._slots - len(self._rows)

    @torch.inference_mode()
    def step(self, admitted: Sequence[Request]) -> list[tuple[Request, Outcome]]:
        """Compute the prompts of ``admitted`` (at most ``free``), then sample one more token of every reply.

        A reply gets its first token when its prompt is computed. Returns the outcomes of the requests that ended.
        """
        self._compact()
        outcomes = self._admit([request for request in admitted if not request.done])
        # Usually the cache lacks one token of each row, the one that was sampled last. After ``clear`` it lacks all.
        missing = [row.tokens[self._prefixes.length(slot) :] for slot, row in enumerate(self._rows)]
        outcomes += self._decode(0, missing)
        self._compact()
        return outcomes

    def abort(self) -> list[Request]:
        """Forget all replies in progress after an error; returns their requests."""
        requests = [row.request for row in self._rows]
        self._rows = []
        self.clear()
        return requests

    def _admit(self, requests: Sequence[Request]) -> list[tuple[Request, Outcome]]:
        """Compute prompts and sample the first token after each. Prompts that others can start from come first."""
        outcomes: list[tuple[Request, Outcome]] = []
        pending = []
        for request in requests:
            if len(request.tokens) < self._max_length:
                pending.append(request)
            else:
                outcomes.append((request, _too_long(len(request.tokens), self._max_length)))
        while pending:
            now, pending = self._split_by_prefix(pending)
            first = len(self._rows)
            missing = []
            for request in now:
                tokens = list(request.tokens)
                reused = self._reuse_prefix(len(self._rows), tokens)
                self._rows.append(_Row(request, Uniforms(self._run_seed, request.key), tokens, self.version))
                missing.append(tokens[reused:])
            outcomes += self._decode(first, missing)
        self._compact()
        return outcomes

    def _decode(self, first: int, missing: Sequence[Sequence[int]]) -> list[tuple[Request, Outcome]]:
        """Compute the tokens that the cache lacks of the slots from ``first`` on, and sample one token for each."""
        outcomes: list[tuple[Request, Outcome]] = []
        for start, stop in _spans([len(tokens) for tokens in missing]):
            slots = range(first + start, first + stop)
            outcomes += self._sample(slots, self._forward(slots, missing[start:stop]))
        return outcomes

    def _split_by_prefix(self, pending: Sequence[Request]) -> tuple[list[Request], list[Request]]:
        """Those to compute now, and those that save work by waiting until the prefix of one of them is in the cache."""
        now: list[Request] = []
        later: list[Request] = []
        for request in pending:
            cached = int(self._prefixes.shared_lengths(request.tokens).max())
            shared = max((shared_length(request.tokens, other.tokens) for other in now), default=0)
            if shared >= cached + _MIN_REUSE:
                later.append(request)
            else:
                now.append(request)
        return now, later

    def _reuse_prefix(self, slot: int, tokens: list[int]) -> int:
        """Copy the longest cached prefix of ``tokens`` into ``slot``; returns its length.

        At least one token is left to compute, since the logits after the last token are needed.
        """
        self._park(slot, tokens)
        lengths = self._prefixes.shared_lengths(tokens)
        # Several rows may be equally long; the slot's own costs no copy.
        source = slot if lengths[slot] == lengths.max() else int(lengths.argmax())
        length = min(int(lengths[source]), len(tokens) - 1)
        self._copy_row(source, slot, length)
        return length

    def _park(self, slot: int, tokens: list[int]) -> None:
        """Before ``tokens`` overwrite ``slot``, move what it has into the parked row that was unused for longest.

        Nothing is moved if ``tokens`` agree with nearly all of it, or if every parked row was used more recently.
        """
        length = self._prefixes.length(slot)
        if length - int(self._prefixes.shared_lengths(tokens)[slot]) < _MIN_REUSE:
            return
        oldest = min(range(self._slots, self._total), key=self._last_used.__getitem__, default=slot)
        if self._last_used[oldest] < self._last_used[slot]:
            self._copy_row(slot, oldest, length)
            self._last_used[oldest] = self._last_used[slot]

    def _copy_row(self, source: int, target: int, length: int) -> None:
        """Make the first ``length`` tokens of ``source`` the contents of ``target``. Both now count as just used."""
        if source != target and length:
            self._cache.copy(source, target, length)
        self._prefixes.copy(source, target, length)
        self._last_used[source] = self._last_used[target] = next(self._clock)

    def _compact(self) -> None:
        """Move the last reply into the slot of each one that ended, so that those in progress stay side by side."""
        slot = 0
        while slot < len(self._rows):
            if not self._rows[slot].request.done:
                slot += 1
                continue
            last = len(self._rows) - 1
            if slot != last:
                self._park(slot, [])
                self._copy_row(last, slot, self._prefixes.length(last))
                # Its tokens are in ``slot`` now; a second copy would only take a row from another prefix.
                self._prefixes.forget(last)
            self._rows[slot] = self._rows[last]
            self._rows.pop()

    def _forward(self, slots: range, missing: Sequence[Sequence[int]]) -> Tensor:
        """Add new tokens to some slots; logits [slots, vocabulary] after the last of each, single precision."""
        counts = [len(tokens) for tokens in missing]
        starts = [self._prefixes.length(slot) for slot in slots]
        cached = CachedPass(self._cache, slots, starts, counts, self._device)
        # Rows are padded on the right with token 0, whose keys and values go where no query reads them.
        width = max(counts)
        ids = torch.tensor([[*tokens, *[0] * (width - len(tokens))] for tokens in missing], device=self._device)
        hidden = self._decoder(
            input_ids=ids,
            attention_mask=cached.mask,
            position_ids=cached.positions,
            use_cache=False,  # the cache of transformers; ours is reached through ``cached``
            cached=cached,
        ).last_hidden_state
        for slot, tokens in zip(slots, missing, strict=True):
            self._prefixes.extend(slot, tokens)
            self._last_used[slot] = next(self._clock)
        # The head is applied to the last real token of each row alone: logits of whole prompts would be huge.
        last = torch.tensor(counts, device=self._device) - 1
        logits: Tensor = self._head(hidden[torch.arange(len(counts), device=self._device), last])
        return logits.float()

    def _sample(self, slots: range, logits: Tensor) -> list[tuple[Request, Outcome]]:
        """Sample a token for each of the slots; returns the outcomes of the replies that this ends."""
        rows = [self._rows[slot] for slot in slots]
        for index, row in enumerate(rows):
            if row.request.matcher is not None:
                row.request.matcher.restrict(logits[index])
        params = [row.request.params for row in rows]
        # Each row draws from a generator of its own, so its numbers do not depend on the rows that share the batch.
        tokens, logprobs = sample_tokens(logits, params, [row.uniforms.next() for row in rows])
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
        # The rows stay where they are until ``_compact``: callers go on through slots that they numbered before.
        for request, _ in outcomes:
            request.done = True
        self.generated += len(rows)
        return outcomes

    def _finish_reason(self, row: _Row, token: int) -> FinishReason | None:
        """Why a reply ends with its newest token; ``None`` if it goes on."""
        request = row.request
        ended = request.matcher.accept(token) if request.matcher is not None else False
        if ended or token in self._template.stop_tokens or self._at_stop_string(row):
            return "stop"
        if len(row.logprobs) >= request.params.max_tokens or len(row.tokens) >= self._max_length:
            return "length"
        return None

    def _at_stop_string(self, row: _Row) -> bool:
        """Whether a stop string has been sampled."""
        stops = row.request.params.stop
        if not stops:
            return False
        # Decoding the whole reply for every token would take time that grows with the square of its length.
        longest = max(len(stop) for stop in stops)
        tail = self._template.decode(row.sampled[-(longest + _STOP_TAIL) :])
        return any(stop in tail for stop in stops)

    def _complete(self, row: _Row, reason: FinishReason) -> Completion:
        """The finished reply. A stop token is among its tokens, which are trained, but not in its text."""
        sampled = row.sampled
        spoken = sampled[:-1] if sampled[-1] in self._template.stop_tokens else sampled
        text = self._template.decode(spoken)
        return Completion(text, tuple(sampled), tuple(row.logprobs), reason, row.version)


def _spans(lengths: Sequence[int]) -> list[tuple[int, int]]:
    """Split consecutive rows into passes of at most ``_PASS_TOKENS`` padded tokens; a longer row has its own pass."""
    spans = []
    start = 0
    for stop in range(1, len(lengths) + 1):
        following = lengths[start : stop + 1]  # the span so far and one row more
        if stop == len(lengths) or max(following) * len(following) > _PASS_TOKENS:
            spans.append((start, stop))
            start = stop
    return spans


def _too_long(length: int, limit: int) -> ModelError:
    return ModelError("TOO_LONG", f"a prompt of {length} tokens leaves no room for a reply in rows of {limit}")
