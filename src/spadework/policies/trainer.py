"""``LocalTrainer``: one update of the weights, in the worker thread of the sampler that it feeds.

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

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from spadework import types
from spadework.policies.base import Caps, Hyperparameters, Metrics
from spadework.policies.checkpoint import read_checkpoint, replace_folder, write_checkpoint
from spadework.policies.losses import kl_estimate, surrogate_loss, target_logprobs
from spadework.policies.models import LoadedModel
from spadework.policies.packs import PackTensors, build_packs
from spadework.policies.tree_attention import ATTENTION, TreePass, tree_attention

if TYPE_CHECKING:
    from spadework.policies.options import LocalOptions
    from spadework.policies.speaker import Speaker

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

    def metrics(self) -> Metrics:
        count = max(self.tokens, 1)
        means = {name: total / count for name, total in self._sums.items()}
        return {"loss": self.loss, "grad_norm": self.grad_norm, **means}


class LocalTrainer:
    """``Trainer`` of the weights that a ``Speaker`` speaks with.

    Args:
        model: In float32; with LoRA, the wrapped model.
        policy: Gets the trained weights at ``sync``.
        options: The options of both.
        load_start: Loads the start model again: for the KL of a full fine-tuning, and to export.
    """

    def __init__(
        self, model: Any, policy: Speaker, options: LocalOptions, load_start: Callable[[], LoadedModel]
    ) -> None:
        _use_tree_attention(model)
        self._model = model
        self._policy = policy
        self._options = options
        self._load_start = load_start
        self._start: Any = None
        config = model.config.get_text_config()
        self._groups = config.num_attention_heads // (config.num_key_value_heads or config.num_attention_heads)
        self._device = next(model.parameters()).device
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

    async def train(self, batch: Sequence[types.Sequence], hp: Hyperparameters) -> Metrics:
        """One update by the clipped policy-gradient objective (method section 8).

        The objective is a sum over tokens: normalisation is in the advantages. Only the KL term is a mean over the
        trained tokens, times ``hp.kl_coef``. Rows without any advantage are left out unless the KL needs them.

        Raises:
            PolicyError: The engine was closed.
        """
        return await self._policy.run(lambda: self._update(batch, hp, self._surrogate(hp), hp.kl_coef))

    async def fit(self, batch: Sequence[types.Sequence], hp: Hyperparameters) -> Metrics:
        """One update by cross-entropy, -sum_t A_t log p_t over the loss mask: a plain sum, normalised by the caller."""
        return await self._policy.run(lambda: self._update(batch, hp, _cross_entropy, 0.0))

    async def sync(self) -> Speaker:
        """Copy the trained weights into the sampler; its version grows by one and its prefixes are forgotten."""
        await self._policy.run(self._push)
        return self._policy

    def save(self, path: Path) -> None:
        """Write trained weights, moments and version into the folder ``path``, aside and renamed. Call after ``sync``.

        There is no generator to save: draws depend on the run's seed and their keys alone.
        """
        moments = {name: self._optimizer.state.get(p, {}) for name, p in self._trained.items()}
        write_checkpoint(path, dict(self._trained), moments, self._policy.version, self._options.lora_rank)

    def load(self, path: Path) -> None:
        """Continue from what ``save`` wrote: weights, moments and version, in the sampler too.

        Raises:
            RunError: The folder is torn, or was written for another model.
        """
        shapes = {name: p.shape for name, p in self._trained.items()}
        weights, moments, version = read_checkpoint(path, shapes, self._options.lora_rank)
        self.reset_optimizer()
        with torch.no_grad():
            for name, parameter in self._trained.items():
                parameter.copy_(weights[name])
                if name in moments:
                    self._optimizer.state[parameter] = {
                        key: value.to(parameter.device) for key, value in moments[name].items()
                    }
        self._push()
        self._policy.set_version(version)

    def export(self, path: Path) -> None:
        """Write the trained weights, adapters added in, and the tokenizer as a Hugging Face folder, in float32."""
        loaded = self._load_start()
        model: Any = loaded.model
        # Tied weights have one name here and two in the model: hence not strict.
        model.load_state_dict(merged_weights(self._model), strict=False)
        aside = path.with_name(f".{path.name}.part")
        model.save_pretrained(aside)
        loaded.tokenizer.save_pretrained(aside)
        replace_folder(aside, path)

    def _push(self) -> None:
        self._policy.set_weights(merged_weights(self._model))
        self._policy.set_version(self._policy.version + 1)

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
            sums.largest = max(sums.largest, float(parts.weight.max()))
            return parts.loss

        return loss_of

    def _update(self, batch: Sequence[types.Sequence], hp: Hyperparameters, loss_of: LossOf, kl_coef: float) -> Metrics:
        started = time.perf_counter()
        rows = [row for row in batch if kl_coef or any(row.advantages)]
        parts = [packs for k in range(hp.minibatches) if (packs := self._packs(rows[k :: hp.minibatches]))]
        several = hp.epochs * len(parts) > 1
        olds = [[self._frozen(self._model, pack) if several else None for pack in packs] for packs in parts]
        sums = _Sums()
        for _ in range(hp.epochs):
            for packs, old in zip(parts, olds, strict=True):
                self._step(packs, old, hp, loss_of, kl_coef, sums)
        tokens = sum(len(row.tokens) for row in rows)
        return {
            **sums.metrics(),
            "importance_max": sums.largest,
            "rows": float(len(rows)),
            "tokens": float(tokens),
            "packed_tokens": float(sums.packed),
            "tokens_per_second": tokens / (time.perf_counter() - started),
        }

    def _packs(self, rows: Sequence[types.Sequence]) -> list[PackTensors]:
        return [pack.tensors(self._device) for pack in build_packs(rows, self._options.micro_batch_tokens)]

    def _step(
        self,
        packs: Sequence[PackTensors],
        olds: Sequence[Tensor | None],
        hp: Hyperparameters,
        loss_of: LossOf,
        kl_coef: float,
        sums: _Sums,
    ) -> None:
        """One step of the optimiser over the packs of a mini-batch."""
        trained = sum(len(pack.targets) for pack in packs)
        for pack, old in zip(packs, olds, strict=True):
            logprobs, entropy = self._logprobs(self._model, pack)
            loss = loss_of(pack, logprobs, logprobs.detach() if old is None else old, sums)
            sums.loss += float(loss.detach())
            sums.add(entropy=entropy, token_loss=-logprobs)
            if kl_coef:
                kl = kl_estimate(logprobs, self._reference(pack))
                sums.add(kl_to_start=kl)
                loss = loss + kl_coef * kl.sum() / trained
            loss.backward()  # type: ignore[no-untyped-call]
            sums.tokens += len(pack.targets)
            sums.packed += pack.tokens.shape[1]
        for group in self._optimizer.param_groups:
            group.update(lr=hp.lr, betas=hp.betas, weight_decay=hp.weight_decay if group["decays"] else 0.0)
        sums.grad_norm = float(nn.utils.clip_grad_norm_(self._trained.values(), hp.grad_clip))
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)

    def _logprobs(self, model: Any, pack: PackTensors) -> tuple[Tensor, Tensor]:
        """Log-probabilities and entropies of the trained tokens of a pack, in single precision."""
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._options.torch_dtype == torch.bfloat16):
            hidden = model.get_decoder()(
                input_ids=pack.tokens,
                position_ids=pack.depths,
                # Our attention knows the tree; a mask of four dimensions only keeps transformers from making its own.
                attention_mask=pack.ends[None, None, None],
                use_cache=False,
                tree=TreePass(pack.ends, self._groups),
            ).last_hidden_state[0]
            return target_logprobs(hidden[pack.nodes], model.get_output_embeddings(), pack.targets, pack.temperatures)

    def _frozen(self, model: Any, pack: PackTensors) -> Tensor:
        with torch.no_grad():
            return self._logprobs(model, pack)[0]

    def _reference(self, pack: PackTensors) -> Tensor:
        """Log-probabilities of the start model: the adapter switched off, or a copy loaded when first needed."""
        if self._options.lora_rank:
            with self._model.disable_adapter():
                return self._frozen(self._model, pack)
        if self._start is None:
            self._start = self._load_start().model.to(self._device).requires_grad_(False)
            _use_tree_attention(self._start)
        return self._frozen(self._start, pack)


def _cross_entropy(pack: PackTensors, logprobs: Tensor, old: Tensor, sums: _Sums) -> Tensor:
    return -(pack.advantages * logprobs).sum()


def _use_tree_attention(model: Any) -> None:
    from transformers import AttentionInterface

    AttentionInterface.register(ATTENTION, tree_attention)
    model.get_decoder().config._attn_implementation = ATTENTION


def merged_weights(model: Any) -> dict[str, Tensor]:
    """The weights by the names of the plain model, adapters added in."""
    if not hasattr(model, "peft_config"):
        return dict(model.named_parameters())
    weights = {}
    plain = model.get_base_model()
    for name, parameter in plain.named_parameters():
        if ".base_layer." in name:
            owner = plain.get_submodule(name.partition(".base_layer.")[0])
            delta = owner.get_delta_weight("default") if name.endswith(".weight") else 0.0
            weights[name.replace(".base_layer.", ".")] = parameter.detach() + delta
        elif "lora_" not in name:
            weights[name] = parameter
    return weights
