"""The local trainer with a vLLM or SGLang server on the same machine as its sampler.

Token ids go in and come out, so nothing is tokenised twice. After an update the weights are written into a folder that
the server reads them from (one of /dev/shm stays in memory), and the server's own call makes it read them again.
"""

from __future__ import annotations

import asyncio
import urllib.parse
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import httpx
import torch
from torch import Tensor

from spadework.config import EndpointSection
from spadework.errors import ConfigError, PolicyError
from spadework.policies.base import SamplingParams
from spadework.policies.local.distributed import load_on_workers
from spadework.policies.local.models import (
    check_model,
    load_model,
    resolve_dtype,
    stop_tokens_of,
    use_threads,
    with_adapter,
)
from spadework.policies.local.options import LocalOptions
from spadework.policies.local.training.trainer import LocalTrainer, merged_weights
from spadework.policies.server.token_server import TokenPolicy
from spadework.policies.server.token_wire import SAMPLE, launch_command, push_calls, sample_body
from spadework.policies.template import HFTemplate

T = TypeVar("T")

_WEIGHTS = "model.safetensors"


class ServedPolicy(TokenPolicy):
    """``SyncedPolicy`` over one server on this machine, which is sent the weights.

    Args:
        settings: See ``TokenPolicy``; one address.
        folder: Where the server reads weights from, and its name for the model; holds the model when this is made.
        dtype: Of the weights there.
        template: See ``TokenPolicy``.
        run_seed: See ``TokenPolicy``.
        max_length: See ``TokenPolicy``.
    """

    def __init__(
        self,
        settings: EndpointSection,
        folder: Path,
        dtype: torch.dtype,
        template: HFTemplate,
        *,
        run_seed: int,
        max_length: int,
    ) -> None:
        super().__init__(settings, str(folder), template, run_seed=run_seed, max_length=max_length)
        self._root = self.settings.urls[0]
        self._folder, self._dtype = folder, dtype
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="spadework-model")

    async def run(self, work: Callable[[], T]) -> T:
        """Run something in the trainer's thread."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, work)

    def set_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Write the weights where the server reads them, and have it read them. Raises ``PolicyError``."""
        self.write(weights)
        try:
            with httpx.Client(base_url=self._root, timeout=self.settings.deadline_seconds) as client:
                for path, body in push_calls(self.kind, str(self._folder), self.version + 1):
                    answer = client.post(path, json=body)
                    if answer.status_code != 200 or b'"success":false' in answer.content.replace(b" ", b""):
                        said = f"{answer.status_code}: {answer.text[:300]}"
                        raise PolicyError("PUSH", f"{self._root}{path} did not take the weights: {said}")
        except httpx.HTTPError as error:
            raise PolicyError("PUSH", f"{self._root} did not take the weights: {error!r}") from error

    def write(self, weights: Mapping[str, Tensor]) -> None:
        """Write the weights where the server reads them."""
        from safetensors.torch import save_file

        aside = self._folder / f".{_WEIGHTS}.part"
        flat = {name: value.detach().to("cpu", self._dtype).contiguous() for name, value in weights.items()}
        save_file(flat, aside, metadata={"format": "pt"})
        aside.replace(self._folder / _WEIGHTS)

    def check(self) -> None:
        """See that the server is there and gives the log-probabilities that training needs. Raises ``ConfigError``."""
        port = urllib.parse.urlsplit(self._root).port or 80
        command = launch_command(self.kind, str(self._folder), port, self._max_length)
        try:
            with httpx.Client(base_url=self._root, timeout=self.settings.timeout_seconds) as client:
                client.get("/health").raise_for_status()
                tempered = self.kind == "sglang" or self._tempers(client)
        except (httpx.HTTPError, LookupError, TypeError, ValueError) as error:
            raise ConfigError(
                f"endpoint.urls: no usable server at {self._root} ({error}). Start it with:\n{command}"
            ) from None
        if not tempered:
            raise ConfigError(f"{self._root} gives log-probabilities of another temperature. Start it with:\n{command}")

    def _tempers(self, client: httpx.Client) -> bool:
        """Whether the likeliest token's log-probability depends on the temperature."""
        prompt = self._template.opening([{"role": "user", "content": "Name a number."}], (), "")
        tops = []
        for temperature in (1.0, 0.5):
            body = sample_body(self.kind, str(self._folder), prompt, SamplingParams(1, temperature), (), 0)
            answer = client.post(SAMPLE[self.kind], json=body | {"logprobs": 1})
            answer.raise_for_status()
            tops.append(max(answer.json()["choices"][0]["logprobs"]["top_logprobs"][0].values()))
        return bool(abs(tops[0] - tops[1]) > 1e-6 or min(tops) > -1e-6)

    async def close(self) -> None:
        """Close the connections; the server goes on."""
        await super().close()
        await asyncio.to_thread(self._worker.shutdown)


def load_served(
    name_or_path: str, settings: EndpointSection, folder: Path, *, run_seed: int, options: LocalOptions
) -> tuple[ServedPolicy, LocalTrainer]:
    """Load a model to train here, and speak with it through the server that reads ``folder``.

    The folder is written first, so that the server can be started on it: the error says how.

    Args:
        name_or_path: See ``models.load_model``.
        settings: See ``ServedPolicy``.
        folder: Written to.
        run_seed: Seeds every draw, and the weights of ``tiny-random``.
        options: See ``LocalOptions``; those of sampling do not count.

    Raises:
        ConfigError: No such model, one that cannot be trained here, or no usable server.
    """
    loaded = load_model(name_or_path, seed=run_seed)
    use_threads(loaded.model, options.threads)
    max_length = check_model(loaded.model, options.max_length)
    template = HFTemplate(loaded.tokenizer, stop_tokens_of(loaded.model))
    dtype = resolve_dtype(options.dtype)
    model: Any = loaded.model
    model.config.dtype, model.config.architectures = dtype, [type(model).__name__]
    for part in (model.config, model.generation_config, loaded.tokenizer):
        part.save_pretrained(folder)
    model = model.to(options.device)
    if options.lora_rank:
        model = with_adapter(model, options.lora_rank, run_seed)
    policy = ServedPolicy(settings, folder, dtype, template, run_seed=run_seed, max_length=max_length)
    policy.write(merged_weights(model))
    policy.check()
    policy.set_weights(merged_weights(model))  # the server may have been started on another run's
    ranks = load_on_workers(name_or_path, run_seed, options)
    trainer = LocalTrainer(model, policy, options, lambda: load_model(name_or_path, seed=run_seed), ranks)
    return policy, trainer
