"""``LocalTrainer``: one update of the weights, in the worker thread of the sampler that it feeds.

Under torchrun every rank has one. What rank 0 is asked to do it first orders from the others (``ranks``); each computes
its share of the rows, and gradients are summed.

Metrics of ``train`` and ``fit`` (means are over trained tokens):

=================== ====================================================================================
loss                the sum that was minimised, without the KL term
grad_norm           before clipping, of the last step
clip_share          share of tokens whose ratio was cut by the clip range
importance_mean/max truncated importance weights
logprob_mismatch    mean absolute difference between the sampler's log-probabilities and the trainer's own
approx_kl           mean of exp(d) - d - 1 with d = current - sampler's: how far the weights moved since sampling
kl_to_start         the same against the frozen start model; only with ``kl_coef`` > 0
entropy             of the trainer's distribution
token_loss          mean cross-entropy of the trained tokens
tokens, rows        trained rows and their tokens, prompts included
packed_tokens       tokens that were computed after rows were merged by their prefixes (``packs``)
tokens_per_second   ``tokens`` over the time of the whole update
=================== ====================================================================================
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from spadework import types
from spadework.errors import ConfigError, PolicyError
from spadework.policies.base import Caps, Hyperparameters, Metrics
from spadework.policies.local.checkpoint import read_checkpoint, replace_folder, write_checkpoint
from spadework.policies.local.distributed import Ranks
from spadework.policies.local.losses import kl_estimate, surrogate_loss
from spadework.policies.local.models import LoadedModel
from spadework.policies.local.prefix_packing import PackTensors, blank_pack, build_packs, share_rows
from spadework.policies.local.shard import part_like, shard_model, whole, whole_on_first
from spadework.policies.local.target_pass import TargetPass

if TYPE_CHECKING:
    from spadework.policies.local.options import LocalOptions
    from spadework.policies.local.speaker import Speaker

LossOf = Callable[[PackTensors, Tensor, Tensor, "_Sums"], Tensor]
"""(pack, log-probabilities, log-probabilities at the start of the update, sums to add to) -> loss to minimise."""


class _Sums:
    """Metrics over trained tokens, summed on the way."""

    def __init__(self) -> None:
        self.loss = 0.0
        self.tokens = 0
        self.packed = 0
        self.grad_norm = 0.0
        self.largest = 0.0
        self._sums: dict[str, float] = defaultdict(float)

    def add(self, **values: Tensor) -> None:
        for name, value in values.items():
            self._sums[name] += float(value.detach().sum())

    def merge(self, other: _Sums) -> None:
        """Add another process's."""
        self.loss += other.loss
        self.tokens += other.tokens
        self.packed += other.packed
        self.largest = max(self.largest, other.largest)
        for name, value in other._sums.items():
            self._sums[name] += value

    def metrics(self) -> Metrics:
        count = max(self.tokens, 1)
        means = {name: total / count for name, total in self._sums.items()}
        return {"loss": self.loss, "grad_norm": self.grad_norm, **means}


@dataclass(frozen=True, slots=True)
class _Part:
    """This process's packs of a mini-batch, and the tokens that all processes train in it."""

    packs: list[PackTensors]
    trained: int


class LocalTrainer:
    """``Trainer`` of the weights that a ``Speaker`` speaks with.

    Args:
        model: In float32; with LoRA, the wrapped model.
        policy: Gets the trained weights at ``sync``.
        options: The options of both.
        load_start: Loads the start model again: for the KL of a full fine-tuning, and to export.
        ranks: The processes that train together; none alone.
    """

    def __init__(
        self,
        model: Any,
        policy: Speaker,
        options: LocalOptions,
        load_start: Callable[[], LoadedModel],
        ranks: Ranks | None = None,
    ) -> None:
        if options.shard and ranks is None:
            raise ConfigError("model.shard divides the model among processes: start with torchrun (docs/backends.md)")
        self._model = model
        self._policy = policy
        self._options = options
        self._load_start = load_start
        self._ranks = ranks
        self._device = next(model.parameters()).device
        self._pass = self._pass_of(model)
        self._start: TargetPass | None = None
        self._stopped = threading.Event()
        self._trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self.reset_optimizer()

    @property
    def caps(self) -> Caps:
        """Everything; determinism where the options ask for it."""
        return Caps(
            token_ids=True, logprobs=True, fit=True, reference_kl=True, deterministic=self._options.deterministic
        )

    def reset_optimizer(self) -> None:
        """Forget the moments, e.g. between warm-up and reinforcement learning. Vectors and biases do not decay."""
        decayed = [p for p in self._trained.values() if p.ndim > 1]
        others = [p for p in self._trained.values() if p.ndim <= 1]
        groups = [{"params": decayed, "decays": True}, {"params": others, "decays": False}]
        self._optimizer = torch.optim.AdamW([group for group in groups if group["params"]], fused=True)

    async def train(self, batch: Sequence[types.TrainingRow], hp: Hyperparameters) -> Metrics:
        """One update by the clipped policy-gradient objective (method section 8).

        The objective is a sum over tokens: normalisation is in the advantages. Only the KL term is a mean over the
        trained tokens, times ``hp.kl_coef``. Rows without any advantage are left out unless the KL needs them.

        Raises:
            PolicyError: The engine was closed.
        """
        return await self._in_thread(True, batch, hp)

    async def fit(self, batch: Sequence[types.TrainingRow], hp: Hyperparameters) -> Metrics:
        """One update by cross-entropy, -sum_t A_t log p_t over the loss mask: a plain sum, normalised by the caller."""
        return await self._in_thread(False, batch, hp)

    async def _in_thread(self, surrogate: bool, batch: Sequence[types.TrainingRow], hp: Hyperparameters) -> Metrics:
        """``update`` in the model's thread. When this is cancelled, the thread stops at the next pack."""
        self._stopped.clear()
        try:
            return await self._policy.run(lambda: self.update(surrogate, batch, hp))
        except asyncio.CancelledError:
            self._stopped.set()
            raise

    async def sync(self) -> Speaker:
        """Copy the trained weights into the sampler; its version grows by one and its prefixes are forgotten."""
        await self._policy.run(self.push)
        return self._policy

    def save(self, path: Path) -> None:
        """Write trained weights, moments and version into the folder ``path``, aside and renamed. Call after ``sync``.

        There is no generator to save: draws depend on the run's seed and their keys alone.
        """
        self._order("save", path)
        weights = {name: whole_on_first(p) for name, p in self._trained.items()}
        states = {name: self._optimizer.state.get(p, {}) for name, p in self._trained.items()}
        moments = {name: {key: whole_on_first(value) for key, value in state.items()} for name, state in states.items()}
        if self._leads:
            write_checkpoint(path, weights, moments, self._policy.version, self._options.lora_rank)

    def load(self, path: Path) -> None:
        """Continue from what ``save`` wrote: weights, moments and version, in the sampler too.

        Raises:
            RunError: The folder is torn, or was written for another model.
        """
        self._order("load", path)
        shapes = {name: p.shape for name, p in self._trained.items()}
        weights, moments, version = read_checkpoint(path, shapes, self._options.lora_rank)
        self.reset_optimizer()
        with torch.no_grad():
            for name, parameter in self._trained.items():
                parameter.copy_(part_like(weights[name], parameter))
                if name in moments:
                    self._optimizer.state[parameter] = {
                        key: part_like(value.to(parameter.device), parameter) for key, value in moments[name].items()
                    }
        self._speak(version)

    def export(self, path: Path) -> None:
        """Write the trained weights, adapters added in, and the tokenizer as a Hugging Face folder, in float32."""
        self._order("export", path)
        weights = merged_weights(self._model)
        if not self._leads:
            return
        loaded = self._load_start()
        model: Any = loaded.model
        # Tied weights have one name here and two in the model: hence not strict.
        model.load_state_dict(weights, strict=False)
        aside = path.with_name(f".{path.name}.part")
        model.save_pretrained(aside)
        loaded.tokenizer.save_pretrained(aside)
        replace_folder(aside, path)

    def push(self) -> None:
        """``sync`` on every rank."""
        self._order("push")
        self._speak(self._policy.version + 1)

    def _speak(self, version: int) -> None:
        self._policy.set_weights(merged_weights(self._model))
        self._policy.set_version(version)

    @property
    def _leads(self) -> bool:
        return self._ranks is None or self._ranks.rank == 0

    def _order(self, name: str, *arguments: Any) -> None:
        if self._ranks is not None:
            self._ranks.give(name, *arguments)

    def _pass_of(self, model: Any) -> TargetPass:
        made = TargetPass(model, self._options.torch_dtype)
        if self._options.shard:
            shard_model(made, self._device.type)
        return made

    def _surrogate(self, hp: Hyperparameters) -> LossOf:
        def loss_of(pack: PackTensors, logprobs: Tensor, old: Tensor, sums: _Sums) -> Tensor:
            parts = surrogate_loss(logprobs, old, pack.logprobs, pack.advantages, hp)
            drift = (logprobs - pack.logprobs).detach()
            sums.add(
                clip_share=parts.clipped.float(),
                importance_mean=parts.weight,
                logprob_mismatch=(old - pack.logprobs).abs(),
                approx_kl=drift.exp() - drift - 1.0,
            )
            sums.largest = max(sums.largest, float(parts.weight.max()) if len(parts.weight) else 0.0)
            return parts.loss

        return loss_of

    def update(self, surrogate: bool, batch: Sequence[types.TrainingRow], hp: Hyperparameters) -> Metrics:
        """``train`` or ``fit`` on every rank, in the model's thread."""
        self._order("update", surrogate, batch, hp)
        started = time.perf_counter()
        loss_of, kl_coef = (self._surrogate(hp), hp.kl_coef) if surrogate else (_cross_entropy, 0.0)
        rows = [row for row in batch if kl_coef or any(row.advantages)]
        parts = [part for k in range(hp.minibatches) if (part := self._part(rows[k :: hp.minibatches])).packs]
        several = hp.epochs * len(parts) > 1
        olds = [[_frozen(self._pass, pack) if several else None for pack in part.packs] for part in parts]
        sums = _Sums()
        for _ in range(hp.epochs):
            for part, old in zip(parts, olds, strict=True):
                self._step(part, old, hp, loss_of, kl_coef, sums)
        if self._ranks is not None:
            own, sums = sums, _Sums()
            for other in self._ranks.gather(own):
                sums.merge(other)
            sums.grad_norm = own.grad_norm
        tokens = sum(len(row.tokens) for row in rows)
        return {
            **sums.metrics(),
            "importance_max": sums.largest,
            "rows": float(len(rows)),
            "tokens": float(tokens),
            "packed_tokens": float(sums.packed),
            "tokens_per_second": tokens / (time.perf_counter() - started),
        }

    def _part(self, rows: Sequence[types.TrainingRow]) -> _Part:
        rank, size = (self._ranks.rank, self._ranks.size) if self._ranks is not None else (0, 1)
        packed = [list(build_packs(share, self._options.micro_batch_tokens)) for share in share_rows(rows, size)]
        # Sharded weights are gathered by all for every pass, so all make as many.
        blanks = [blank_pack()] * (max(map(len, packed)) - len(packed[rank]))
        trained = sum(len(pack.targets) for packs in packed for pack in packs)
        return _Part([pack.tensors(self._device) for pack in packed[rank] + blanks], trained)

    def _step(
        self,
        part: _Part,
        olds: Sequence[Tensor | None],
        hp: Hyperparameters,
        loss_of: LossOf,
        kl_coef: float,
        sums: _Sums,
    ) -> None:
        """One step of the optimiser over the packs of a mini-batch."""
        for pack, old in zip(part.packs, olds, strict=True):
            self._check_stopped()
            logprobs, entropy = self._pass(pack)
            loss = loss_of(pack, logprobs, logprobs.detach() if old is None else old, sums)
            sums.loss += float(loss.detach())
            sums.add(entropy=entropy, token_loss=-logprobs)
            if kl_coef:
                kl = kl_estimate(logprobs, self._reference(pack))
                sums.add(kl_to_start=kl)
                loss = loss + kl_coef * kl.sum() / part.trained
            loss.backward()  # type: ignore[no-untyped-call]
            sums.tokens += len(pack.targets)
            sums.packed += pack.tokens.shape[1]
        if self._ranks is not None and not self._options.shard:
            self._ranks.sum_gradients(self._trained.values())
        for group in self._optimizer.param_groups:
            group.update(lr=hp.lr, betas=hp.betas, weight_decay=hp.weight_decay if group["decays"] else 0.0)
        sums.grad_norm = float(whole(nn.utils.clip_grad_norm_(self._trained.values(), hp.grad_clip)))
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)

    def _check_stopped(self) -> None:
        """Raises ``PolicyError`` once nobody waits for this update any more. Several ranks finish theirs in step."""
        if self._stopped.is_set() and self._ranks is None:
            self._optimizer.zero_grad(set_to_none=True)
            raise PolicyError("STOPPED", "the update was cancelled")

    def _reference(self, pack: PackTensors) -> Tensor:
        """Log-probabilities of the start model: the adapter switched off, or a copy loaded when first needed."""
        if self._options.lora_rank:
            with self._model.disable_adapter():
                return _frozen(self._pass, pack)
        if self._start is None:
            self._start = self._pass_of(self._load_start().model.to(self._device).requires_grad_(False))
        return _frozen(self._start, pack)


def _frozen(model: TargetPass, pack: PackTensors) -> Tensor:
    with torch.no_grad():
        logprobs: Tensor = model(pack)[0]
    return logprobs


def _cross_entropy(pack: PackTensors, logprobs: Tensor, old: Tensor, sums: _Sums) -> Tensor:
    return -(pack.advantages * logprobs).sum()


def merged_weights(model: Any) -> dict[str, Tensor]:
    """The weights by the names of the plain model, adapters added in; divided ones on rank 0 alone."""
    if not hasattr(model, "peft_config"):
        return {name: whole_on_first(parameter) for name, parameter in model.named_parameters()}
    weights = {}
    plain = model.get_base_model()
    for name, parameter in plain.named_parameters():
        if ".base_layer." in name:
            owner = plain.get_submodule(name.partition(".base_layer.")[0])
            delta = owner.get_delta_weight("default") if name.endswith(".weight") else 0.0
            weights[name.replace(".base_layer.", ".")] = whole_on_first(parameter.detach() + delta)
        elif "lora_" not in name:
            weights[name] = whole_on_first(parameter)
    return weights
