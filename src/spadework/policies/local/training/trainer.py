"""``LocalTrainer``: one update of the weights, in the worker thread of the sampler that it feeds.

Under torchrun every rank has one. Before rank 0 carries out a call, it orders the same call from the others; each then
computes its share of the rows, and gradients are summed. ``update_metrics`` says what ``train`` and ``fit`` return.
"""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor

from spadework import types
from spadework.errors import ConfigError, PolicyError
from spadework.policies.base import Caps, Hyperparameters, Metrics, Policy, RoleStep
from spadework.policies.hyperparameters import ALL_ROLES, plan_steps
from spadework.policies.local.checkpoint import Checkpoint, read_checkpoint, replace_folder, write_checkpoint
from spadework.policies.local.distributed import Ranks, part_like, shard_model, whole_on_first
from spadework.policies.local.models import LoadedModel
from spadework.policies.local.options import LocalOptions
from spadework.policies.local.training.losses import kl_estimate, surrogate_loss
from spadework.policies.local.training.optimizers import Optimizers
from spadework.policies.local.training.prefix_packing import PackTensors, blank_pack, build_packs, share_rows
from spadework.policies.local.training.target_pass import TargetPass
from spadework.policies.local.training.update_metrics import UpdateMetrics

T = TypeVar("T")
LossOf = Callable[[PackTensors, Tensor, Tensor], Tensor]
"""(pack, log-probabilities [M], log-probabilities [M] at the start of the update) -> loss to minimise."""


class SyncedPolicy(Policy, Protocol):
    """A policy whose weights a trainer sets: the embedded sampler, or a server on the same machine."""

    async def run(self, work: Callable[[], T]) -> T:
        """Run something in the thread that the model's work is done in."""
        ...

    def set_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Sample with these weights, by their names in the model; blocks until it does. Raises ``PolicyError``."""
        ...

    def set_version(self, version: int) -> None:
        """Set the version that completions carry from now on."""
        ...


@dataclass(frozen=True, slots=True)
class _PackedStep:
    """One optimiser step: this process's packs, and the tokens that all processes train in it."""

    settings: RoleStep
    packs: list[PackTensors]
    trained: int


class LocalTrainer:
    """``Trainer`` of the weights that a ``SyncedPolicy`` samples with.

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
        policy: SyncedPolicy,
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
        # Taken after sharding, which replaces the parameters.
        self._trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self._optimizers = Optimizers(self._trained)

    @property
    def caps(self) -> Caps:
        """Everything; determinism where the options ask for it."""
        return Caps(
            token_ids=True, logprobs=True, fit=True, reference_kl=True, deterministic=self._options.deterministic
        )

    async def train(self, batch: Sequence[types.TrainingRow], hp: Hyperparameters) -> Metrics:
        """One update by the clipped policy-gradient objective; ``Hyperparameters`` has its formula.

        Rows that can have no gradient are left out. Moments are kept of the steps that this update takes: those of
        roles where ``hp.role_steps`` names them, one set where it is empty.

        Raises:
            PolicyError: The engine was closed.
        """
        return await self._in_thread(True, batch, hp)

    async def fit(self, batch: Sequence[types.TrainingRow], hp: Hyperparameters) -> Metrics:
        """One update by cross-entropy, -sum_t A_t log p_t over the loss mask: a plain sum, normalised by the caller."""
        plain = dataclasses.replace(hp, kl_coef=0.0, entropy_coef=0.0, role_steps=())
        return await self._in_thread(False, batch, plain)

    async def _in_thread(self, surrogate: bool, batch: Sequence[types.TrainingRow], hp: Hyperparameters) -> Metrics:
        """``update`` in the model's thread. When this is cancelled, the thread stops at the next pack."""
        self._stopped.clear()
        try:
            return await self._policy.run(lambda: self.update(surrogate, batch, hp))
        except asyncio.CancelledError:
            self._stopped.set()
            raise

    async def sync(self) -> SyncedPolicy:
        """Copy the trained weights into the sampler; its version grows by one and its prefixes are forgotten."""
        await self._policy.run(self.push)
        return self._policy

    def save(self, path: Path) -> None:
        """Write trained weights, moments and version into the folder ``path``, aside and renamed. Call after ``sync``.

        There is no generator to save: sampling depends on the run's seed and its keys alone.
        """
        self._order("save", path)
        # Every rank takes part in putting sharded tensors together; rank 0 alone holds and writes the result.
        weights = {name: whole_on_first(p) for name, p in self._trained.items()}
        moments = self._optimizers.moments()
        if self._leads:
            write_checkpoint(path, Checkpoint(weights, moments, self._policy.version, self._options.lora_rank))

    def load(self, path: Path) -> None:
        """Continue from what ``save`` wrote: weights, moments and version, in the sampler too.

        Raises:
            RunError: The folder is torn, or was written for another model.
        """
        self._order("load", path)
        shapes = {name: p.shape for name, p in self._trained.items()}
        found = read_checkpoint(path, shapes, self._options.lora_rank)
        with torch.no_grad():
            for name, parameter in self._trained.items():
                parameter.copy_(part_like(found.weights[name], parameter))
        self._optimizers.load(found.moments)
        self._set_policy(found.version)

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
        self._set_policy(self._policy.version + 1)

    def _set_policy(self, version: int) -> None:
        self._policy.set_weights(merged_weights(self._model))
        self._policy.set_version(version)

    @property
    def _leads(self) -> bool:
        return self._ranks is None or self._ranks.rank == 0

    def _order(self, name: str, *arguments: Any) -> None:
        if self._ranks is not None:
            self._ranks.order(name, *arguments)

    def _pass_of(self, model: Any) -> TargetPass:
        made = TargetPass(model, self._options.torch_dtype)
        if self._options.shard:
            shard_model(made, self._device.type)
        return made

    def update(self, surrogate: bool, batch: Sequence[types.TrainingRow], hp: Hyperparameters) -> Metrics:
        """``train`` or ``fit`` on every rank, in the model's thread."""
        self._order("update", surrogate, batch, hp)
        started = time.perf_counter()
        metrics = UpdateMetrics()
        loss_of = _surrogate(hp, metrics) if surrogate else _cross_entropy
        planned = list(plan_steps(batch, hp))
        packed = [self._packed(each.step, each.rows) for each in planned]
        steps = [step for step in packed if step.packs]
        # The ratio of every step is to the weights before the first one. Where there is only one step those are the
        # present weights, and its own pass gives their log-probabilities.
        several = hp.epochs * len(steps) > 1
        olds = [[_frozen(self._pass, pack) if several else None for pack in step.packs] for step in steps]
        if surrogate:
            self._optimizers.keep([step.role for step in hp.role_steps] or [ALL_ROLES])
        for _ in range(hp.epochs):
            for step, old in zip(steps, olds, strict=True):
                self._backward(step, old, hp, loss_of, metrics)
                norm = self._optimizers.step(step.settings, hp)
                metrics.set_norm(step.settings.role, norm)
        if self._ranks is not None:
            shares, metrics = self._ranks.gather(metrics), UpdateMetrics()
            for share in shares:
                metrics.merge(share)
        rows = [row for each in planned for row in each.rows]
        tokens = sum(len(row.tokens) for row in rows)
        return {
            **metrics.metrics(),
            "rows": float(len(rows)),
            "tokens": float(tokens),
            "tokens_per_second": tokens / (time.perf_counter() - started),
        }

    def _packed(self, settings: RoleStep, rows: Sequence[types.TrainingRow]) -> _PackedStep:
        rank, size = (self._ranks.rank, self._ranks.size) if self._ranks is not None else (0, 1)
        packed = [list(build_packs(share, self._options.micro_batch_tokens)) for share in share_rows(rows, size)]
        # Sharded weights are gathered by all ranks for every pass, so all ranks must make equally many passes.
        blanks = [blank_pack()] * (max(map(len, packed)) - len(packed[rank]))
        trained = sum(len(pack.targets) for packs in packed for pack in packs)
        return _PackedStep(settings, [pack.tensors(self._device) for pack in packed[rank] + blanks], trained)

    def _backward(
        self,
        packed: _PackedStep,
        olds: Sequence[Tensor | None],
        hp: Hyperparameters,
        loss_of: LossOf,
        metrics: UpdateMetrics,
    ) -> None:
        """Add up the gradients of one optimiser step over its packs, and over the ranks."""
        for pack, old in zip(packed.packs, olds, strict=True):
            self._check_stopped()
            logprobs, entropy = self._pass(pack)
            loss = loss_of(pack, logprobs, logprobs.detach() if old is None else old)
            metrics.add_pack(loss, pack.tokens.shape[1])
            metrics.add(entropy=entropy, token_loss=-logprobs)
            # These two are means over the step's tokens: over all packs and ranks, hence not over this pack's.
            if packed.settings.kl_coef:
                kl = kl_estimate(logprobs, self._reference(pack))
                metrics.add(kl_to_start=kl)
                loss = loss + packed.settings.kl_coef * kl.sum() / packed.trained
            if hp.entropy_coef:
                loss = loss - hp.entropy_coef * entropy.sum() / packed.trained
            loss.backward()  # type: ignore[no-untyped-call]
        if self._ranks is not None and not self._options.shard:
            self._ranks.sum_gradients(self._trained.values())

    def _check_stopped(self) -> None:
        """Raises ``PolicyError`` once nobody waits for this update any more. Several ranks finish theirs in step."""
        if self._stopped.is_set() and self._ranks is None:
            self._optimizers.clear_gradients()
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


def _surrogate(hp: Hyperparameters, metrics: UpdateMetrics) -> LossOf:
    def loss_of(pack: PackTensors, logprobs: Tensor, old: Tensor) -> Tensor:
        parts = surrogate_loss(logprobs, old, pack.logprobs, pack.advantages, pack.rows, hp)
        drift = (logprobs - pack.logprobs).detach()
        metrics.add_weights(parts.weight)
        metrics.add(
            clip_share=parts.clipped.float(),
            logprob_mismatch=(old - pack.logprobs).abs(),
            approx_kl=drift.exp() - drift - 1.0,
        )
        return parts.loss

    return loss_of


def _cross_entropy(pack: PackTensors, logprobs: Tensor, old: Tensor) -> Tensor:
    return -(pack.advantages * logprobs).sum()


def merged_weights(model: Any) -> dict[str, Tensor]:
    """The weights by the names of the plain model, with the adapter added in. Sharded ones are on rank 0 alone."""
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
