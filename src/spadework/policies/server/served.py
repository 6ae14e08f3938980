"""The local trainer with a vLLM or SGLang server on the same machine as its sampler.

Token ids go in and come out, so nothing is tokenised twice. After an update the weights are written into a folder that
the server reads them from (one of /dev/shm stays in memory), and the server's own call makes it read them again.
"""

from __future__ import annotations

import asyncio
import time
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
from spadework.policies.server.token_wire import (
    ABOUT,
    MODEL,
    SAMPLE,
    launch_command,
    probe_body,
    push_calls,
    read_probe,
    served_models,
)
from spadework.policies.template import HFTemplate

T = TypeVar("T")

_WEIGHTS = "model.safetensors"
_RETURN_PAUSE = 2.0
"""Seconds between two looks for a server that does not answer."""


class ServedPolicy(TokenPolicy):
    """``SyncedPolicy`` over one server on this machine, which is sent the weights.

    A server that dies is waited for as long as ``endpoint.deadline_seconds``: it reads the newest weights when it is
    started again, since they lie in ``folder``.

    Args:
        settings: See ``TokenPolicy``; one address.
        folder: Where the server reads weights from; holds the model when this is made.
        dtype: Of the weights there.
        template: See ``TokenPolicy``.
        max_length: See ``TokenPolicy``.
    """

    def __init__(
        self,
        settings: EndpointSection,
        folder: Path,
        dtype: torch.dtype,
        template: HFTemplate,
        *,
        max_length: int,
    ) -> None:
        super().__init__(settings, MODEL, template, max_length=max_length)
        self._endpoints.waits_for_return = True
        self._root = self.settings.urls[0]
        self._folder, self._dtype = folder, dtype
        self._pushes = 0
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="spadework-model")

    async def run(self, work: Callable[[], T]) -> T:
        """Run something in the trainer's thread."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, work)

    def set_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Write the weights where the server reads them, and have it read them. Raises ``PolicyError``."""
        self.write(weights)
        until = time.monotonic() + self.settings.deadline_seconds
        while True:
            try:
                self._push()
                break
            except httpx.TransportError as error:
                if time.monotonic() > until:
                    raise PolicyError("PUSH", f"{self._root} did not take the weights: {error!r}") from error
                time.sleep(_RETURN_PAUSE)

    def _push(self) -> None:
        self._pushes += 1
        with httpx.Client(base_url=self._root, timeout=self.settings.deadline_seconds) as client:
            for path, body in push_calls(self.kind, str(self._folder), self._pushes):
                answer = client.post(path, json=body)
                if answer.status_code != 200 or b'"success":false' in answer.content.replace(b" ", b""):
                    said = f"{answer.status_code}: {answer.text[:300]}"
                    raise PolicyError("PUSH", f"{self._root}{path} did not take the weights: {said}")

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
                self._model = self._served_name(client)
                tempered = self._tempers(client)
        except (httpx.HTTPError, LookupError, TypeError, ValueError) as error:
            raise ConfigError(
                f"endpoint.urls: no usable server at {self._root} ({error}). Start it with:\n{command}"
            ) from None
        if not tempered:
            raise ConfigError(f"{self._root} gives log-probabilities of another temperature. Start it with:\n{command}")

    def _served_name(self, client: httpx.Client) -> str:
        """The server's name for the model in our folder. Raises ``ValueError`` where it serves others alone."""
        answer = client.get(ABOUT[self.kind])
        answer.raise_for_status()
        served = served_models(self.kind, answer.json())
        for name, folder in served.items():
            if Path(folder).expanduser().resolve() == self._folder:
                return name
        shown = ", ".join(f"{name} from {folder}" for name, folder in served.items())
        raise ValueError(f"it serves {shown or 'nothing'}, but the weights are written to sampler.folder")

    def _tempers(self, client: httpx.Client) -> bool:
        """Whether the likeliest token's log-probability depends on the temperature."""
        prompt = self._template.opening([{"role": "user", "content": "Name a number."}], (), "")
        tops = []
        for temperature in (1.0, 0.5):
            answer = client.post(SAMPLE[self.kind], json=probe_body(self.kind, self._model, prompt, temperature))
            answer.raise_for_status()
            tops.append(read_probe(self.kind, answer.json()))
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
        run_seed: Seeds the weights of ``tiny-random`` and of an adapter.
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
    policy = ServedPolicy(settings, folder, dtype, template, max_length=max_length)
    policy.write(merged_weights(model))
    policy.check()
    policy.set_weights(merged_weights(model))  # the server may have been started on another run's
    ranks = load_on_workers(name_or_path, run_seed, options)
    trainer = LocalTrainer(model, policy, options, lambda: load_model(name_or_path, seed=run_seed), ranks)
    return policy, trainer
