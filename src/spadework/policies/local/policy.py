"""``LocalPolicy``, a causal language model in this process, and ``load_local``, which joins it to its trainer.

Sampling and training have a copy of the weights each, since attention and number format differ; ``sync`` copies one to
the other. Both use the same worker thread, so an update never runs beside a step of sampling.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from spadework.policies.base import Completion, Message, SamplingParams
from spadework.policies.chat import TokenChat
from spadework.policies.local.distributed import load_on_workers
from spadework.policies.local.fits import check_fits
from spadework.policies.local.models import (
    check_model,
    load_model,
    sampling_copy,
    stop_tokens_of,
    use_threads,
    with_adapter,
)
from spadework.policies.local.options import LocalOptions
from spadework.policies.local.sampling.continuous_batch import ContinuousBatch
from spadework.policies.local.sampling.grammar import Grammars
from spadework.policies.local.sampling.sampler import LocalSampler
from spadework.policies.local.training.trainer import LocalTrainer
from spadework.policies.template import HFTemplate
from spadework.policies.thinking import Thinking
from spadework.types import Key

T = TypeVar("T")


class LocalPolicy:
    """``Policy`` of the embedded sampler. Its weights are those of the last ``sync``."""

    def __init__(self, sampler: LocalSampler, batch: ContinuousBatch, template: HFTemplate, model: nn.Module) -> None:
        self._sampler = sampler
        self._batch = batch
        self._template = template
        self._model = model

    @property
    def version(self) -> int:
        """Grows by one with every ``sync``."""
        return self._batch.version

    @property
    def generated(self) -> int:
        """Tokens sampled so far."""
        return self._batch.generated

    @property
    def template(self) -> HFTemplate:
        """The model's chat template over token ids."""
        return self._template

    def chat(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        prefill: str = "",
    ) -> TokenChat:
        """Open a conversation; see ``base.Policy.chat``."""
        return TokenChat(self._sampler, self._template, messages, tools=tools, prefill=prefill)

    def check_thinking(self, thinking: Thinking) -> None:
        """Raises ``ConfigError`` where the model's chat template has no such switch."""
        self._template.switched(thinking)

    async def sample(self, tokens: Sequence[int], params: SamplingParams, key: Key) -> Completion:
        """Continue a row of token ids. Raises ``PolicyError``."""
        return await self._sampler.sample(tokens, params, key)

    def attend(self) -> AbstractContextManager[None]:
        """See ``base.Policy.attend``."""
        return self._sampler.attend()

    def count_tokens(self, text: str) -> int:
        """Length of a text in tokens, without special tokens around it."""
        return len(self._template.encode(text))

    async def run(self, work: Callable[[], T]) -> T:
        """Run something in the model's own thread, between two steps of sampling."""
        return await self._sampler.run(work)

    def set_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Sample with these weights, by their names in the model; keys and values of the old ones are forgotten."""
        with torch.no_grad():
            for name, parameter in self._model.named_parameters():
                parameter.copy_(weights[name])
        self._batch.clear()

    def set_version(self, version: int) -> None:
        """Set the version that completions carry from now on."""
        self._batch.version = version

    async def close(self) -> None:
        """Stop; requests that wait get a ``PolicyError``."""
        await self._sampler.close()


def load_local(name_or_path: str, *, run_seed: int, options: LocalOptions) -> tuple[LocalPolicy, LocalTrainer]:
    """Load a model and share it between a policy and a trainer.

    Args:
        name_or_path: See ``models.load_model``.
        run_seed: Seeds all sampling, and the weights of ``tiny-random``.
        options: How the model is run.

    Raises:
        ConfigError: No such model, or one that cannot be run here.
    """
    loaded = load_model(name_or_path, seed=run_seed)
    use_threads(loaded.model, options.threads)
    max_length = check_model(loaded.model, options.max_length)
    check_fits(loaded.model, options, max_length)
    template = HFTemplate(loaded.tokenizer, stop_tokens_of(loaded.model))
    sampling_model = sampling_copy(loaded.model, options.torch_dtype).to(options.device)
    batch = ContinuousBatch(
        sampling_model,
        template,
        run_seed=run_seed,
        slots=options.slots,
        parked=options.parked,
        max_length=max_length,
    )
    worker = ThreadPoolExecutor(1, thread_name_prefix="spadework-model")
    sampler = LocalSampler(batch, Grammars(loaded.tokenizer), worker, deterministic=options.deterministic)
    policy = LocalPolicy(sampler, batch, template, sampling_model)
    model = loaded.model.to(options.device)
    if options.lora_rank:
        model = with_adapter(model, options.lora_rank, run_seed)
    ranks = load_on_workers(name_or_path, run_seed, options)
    return policy, LocalTrainer(model, policy, options, lambda: load_model(name_or_path, seed=run_seed), ranks)
