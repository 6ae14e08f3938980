"""The local trainer with a vLLM or SGLang server on the same machine as its sampler.

Token ids go in and come out, so nothing is tokenised twice. After an update the weights are written into a folder that
the server reads them from (one of /dev/shm stays in memory), and the server's own call makes it read them again.
"""

from __future__ import annotations

import asyncio
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx
import torch
from torch import Tensor

from spadework.config import EndpointSection
from spadework.errors import ConfigError, PolicyError
from spadework.policies.base import Completion, Message, Metrics, SamplingParams
from spadework.policies.chat import TokenChat
from spadework.policies.cut import cut_at_stop
from spadework.policies.endpoints import Endpoints
from spadework.policies.models import check_model, load_model, resolve_dtype, stop_tokens_of, with_adapter
from spadework.policies.options import LocalOptions
from spadework.policies.template import HFTemplate
from spadework.policies.token_wire import SAMPLE, Sampled, Server, launch_command, push_calls, read_sample, sample_body
from spadework.policies.trainer import LocalTrainer, merged_weights
from spadework.types import Key, derive_seed

T = TypeVar("T")

_WEIGHTS = "model.safetensors"


class ServedPolicy:
    """``Speaker`` over a server's sampling calls.

    Args:
        settings: Address, kind of server, deadlines; one address.
        template: The model's chat template.
        folder: Where the server reads weights from; holds the model when this is made.
        dtype: Of the weights there.
        run_seed: With a request's key, the seed that the server is sent.
        max_length: Longest row in tokens, prompt and reply together.
    """

    def __init__(
        self,
        settings: EndpointSection,
        template: HFTemplate,
        folder: Path,
        dtype: torch.dtype,
        *,
        run_seed: int,
        max_length: int,
    ) -> None:
        self._kind: Server = "sglang" if settings.server == "sglang" else "vllm"
        self._root = settings.urls[0].rstrip("/").removesuffix("/v1")
        self._settings = settings
        self._endpoints = Endpoints(settings.model_copy(update={"urls": (self._root,), "weights": ()}))
        self._template, self._folder, self._dtype = template, folder, dtype
        self._run_seed, self._max_length = run_seed, max_length
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="spadework-model")
        self.version = 0

    def chat(
        self, messages: Sequence[Message], *, tools: Sequence[Mapping[str, Any]] = (), prefill: str = ""
    ) -> TokenChat:
        """Open a conversation; see ``base.Policy.chat``."""
        return TokenChat(self, self._template, messages, tools=tools, prefill=prefill)

    async def sample(self, tokens: Sequence[int], params: SamplingParams, key: Key) -> Completion:
        """Continue a row of token ids. Raises ``PolicyError``."""
        room = self._max_length - len(tokens)
        if room < 1:
            raise PolicyError("TOO_LONG", f"a prompt of {len(tokens)} tokens leaves no room for a reply")
        if params.grammar is not None:
            raise PolicyError("REFUSED", "a grammar was asked for, which the server is not bound to")
        version, stops = self.version, sorted(self._template.stop_tokens)
        limit = SamplingParams(
            min(params.max_tokens, room), params.temperature, params.top_p, params.top_k, params.stop
        )
        seed = derive_seed(self._run_seed, *key) % 2**31
        body = sample_body(self._kind, str(self._folder), tokens, limit, stops, seed)
        route = "/".join(map(str, key[:-1]))
        sampled = await self._endpoints.ask(SAMPLE[self._kind], body, route, lambda data: read_sample(self._kind, data))
        self._endpoints.count(len(tokens), len(sampled.tokens))
        return self._completion(sampled, params.stop, version)

    def _completion(self, sampled: Sampled, stops: Sequence[str], version: int) -> Completion:
        cut = cut_at_stop(sampled.tokens, stops, self._template.decode)
        ids, logprobs = sampled.tokens[:cut], sampled.logprobs[:cut]
        ended = ids[-1] in self._template.stop_tokens
        text = self._template.decode(ids[:-1] if ended else ids)
        reason = "stop" if ended or cut < len(sampled.tokens) else sampled.finish_reason
        return Completion(text, ids, logprobs, reason, version)

    @contextmanager
    def attend(self) -> Iterator[None]:
        """The server batches as it likes: nobody waits."""
        yield

    def count_tokens(self, text: str) -> int:
        """Length of a text in tokens, without special tokens around it."""
        return len(self._template.encode(text))

    def take_metrics(self) -> Metrics:
        """Counts since the last time: requests, retries and faults by code, tokens."""
        return self._endpoints.take_metrics()

    async def run(self, work: Callable[[], T]) -> T:
        """Run something in the trainer's thread."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, work)

    def set_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Write the weights where the server reads them, and have it read them. Raises ``PolicyError``."""
        from safetensors.torch import save_file

        aside = self._folder / f".{_WEIGHTS}.part"
        flat = {name: value.detach().to("cpu", self._dtype).contiguous() for name, value in weights.items()}
        save_file(flat, aside, metadata={"format": "pt"})
        aside.replace(self._folder / _WEIGHTS)
        try:
            with httpx.Client(base_url=self._root, timeout=self._settings.deadline_seconds) as client:
                for path, body in push_calls(self._kind, str(self._folder), self.version + 1):
                    answer = client.post(path, json=body)
                    if answer.status_code != 200 or b'"success":false' in answer.content.replace(b" ", b""):
                        raise PolicyError(
                            "PUSH", f"{self._root}{path} answered {answer.status_code}: {answer.text[:300]}"
                        )
        except httpx.HTTPError as error:
            raise PolicyError("PUSH", f"{self._root} did not take the weights: {error!r}") from error

    def set_version(self, version: int) -> None:
        """Set the version that completions carry from now on."""
        self.version = version

    def check(self) -> None:
        """See that the server is there and gives the log-probabilities that training needs. Raises ``ConfigError``."""
        port = urllib.parse.urlsplit(self._root).port or 80
        command = launch_command(self._kind, str(self._folder), port, self._max_length)
        try:
            with httpx.Client(base_url=self._root, timeout=self._settings.timeout_seconds) as client:
                client.get("/health").raise_for_status()
                tempered = self._kind == "sglang" or self._tempers(client)
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
            body = sample_body(self._kind, str(self._folder), prompt, SamplingParams(1, temperature), (), 0)
            answer = client.post(SAMPLE[self._kind], json=body | {"logprobs": 1})
            answer.raise_for_status()
            tops.append(max(answer.json()["choices"][0]["logprobs"]["top_logprobs"][0].values()))
        return bool(abs(tops[0] - tops[1]) > 1e-6 or min(tops) > -1e-6)

    async def close(self) -> None:
        """Close the connections; the server goes on."""
        await self._endpoints.close()
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
    if options.threads:
        torch.set_num_threads(options.threads)
    loaded = load_model(name_or_path, seed=run_seed)
    max_length = check_model(loaded.model, options.max_length)
    template = HFTemplate(loaded.tokenizer, stop_tokens_of(loaded.model))
    dtype = resolve_dtype(options.dtype)
    model: Any = loaded.model
    if not (folder / _WEIGHTS).exists():
        model.config.dtype = dtype
        model.save_pretrained(folder, max_shard_size="10000GB")
        loaded.tokenizer.save_pretrained(folder)
    policy = ServedPolicy(settings, template, folder, dtype, run_seed=run_seed, max_length=max_length)
    policy.check()
    model = model.to(options.device)
    if options.lora_rank:
        model = with_adapter(model, options.lora_rank, run_seed)
    trainer = LocalTrainer(model, policy, options, lambda: load_model(name_or_path, seed=run_seed))
    policy.set_weights(merged_weights(model))  # the folder may be another run's
    return policy, trainer
