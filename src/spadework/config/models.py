"""Which models design, play and train, and where they are served."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, model_validator

from spadework.config.base import Section


class ModelSection(Section):
    """Which model, and how it is held."""

    name: str = "smollm2-135m"
    """``scripted``, ``smollm2-135m``, ``scale``, ``tiny-random``, a Hugging Face name or a folder; ``openai:NAME``, a
    model behind an endpoint (``[endpoint]``), which designs, plays and ranks but does not train; or ``tinker:NAME``,
    one that a Tinker server samples and trains (``[tinker]``)."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """Number type of the copy that samples; training keeps master weights in single precision."""
    threads: int | None = None
    """Torch threads; unset, one for a model of under five million parameters and all cores for any other."""
    slots: int = Field(32, ge=1)
    """Replies sampled at once."""
    parked: int = Field(64, ge=0)
    """Further rows of keys and values that the embedded sampler keeps, for the next turn of a chat and for common
    prefixes. With ``slots`` rows of ``max_length`` tokens they take most of a GPU's memory (``--dry-run``)."""
    lora_rank: int = Field(0, ge=0)
    """0 trains all weights, where the engine can (a Tinker server mostly trains adapters alone)."""
    max_length: int = Field(32_768, ge=64)
    """Tokens of one conversation (method section 6)."""
    micro_batch_tokens: int = Field(1_024, ge=64)
    """Tokens of one forward and backward pass in training, after rows were merged by their common prefixes."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where the local engine samples and trains; ``auto`` takes a GPU where there is one."""
    shard: bool = False
    """Divide weights, gradients and moments among the processes of torchrun (FSDP2): for a model that does not fit one
    device (docs/backends.md)."""


class EndpointSection(Section):
    """Where a model ``openai:NAME`` is served (any OpenAI-compatible chat endpoint), and how it is asked."""

    urls: tuple[str, ...] = ()
    """Base addresses, e.g. ``http://localhost:8000/v1``; several that serve the same model share the conversations."""
    weights: tuple[float, ...] = ()
    """Each address's share of the conversations; equal when unset."""
    key_env: str = ""
    """The environment variable that holds the key; unset sends none."""
    server: Literal["openai", "vllm", "sglang"] = "openai"
    """Which server's own fields are asked for: vLLM's and SGLang's give log-probabilities and token ids."""
    tools: Literal["native", "text"] = "native"
    """Whether tools go into the request, or stand as text in the first message, for servers that refuse them."""
    limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """What the endpoint calls the limit of new tokens; some hosted models take the second alone."""
    extra: Mapping[str, Any] = {}
    """Further fields of every request, e.g. ``chat_template_kwargs = {enable_thinking = false}``."""
    without: tuple[str, ...] = ()
    """Fields that the endpoint refuses, e.g. ``temperature`` or ``seed``."""
    concurrency: int = Field(64, ge=1)
    """The most requests at once to each address; halved when it is overloaded, and slowly raised again."""
    timeout_seconds: float = Field(300.0, gt=0)
    """Seconds that one attempt may take, to the last byte."""
    deadline_seconds: float = Field(900.0, gt=0)
    """Seconds that one request may take with all its attempts and pauses; a longer one is a fault of the endpoint."""
    retries: int = Field(6, ge=0)
    """Further attempts after overload, server errors, broken connections and unusable answers."""
    input_price: float = Field(0.0, ge=0)
    """Price of a million prompt tokens, for the cost in the metrics."""
    output_price: float = Field(0.0, ge=0)
    """Price of a million sampled tokens."""

    @model_validator(mode="after")
    def _check(self) -> EndpointSection:
        for url in self.urls:
            if not url.startswith(("http://", "https://")):
                raise ValueError(f"urls: {url!r} does not begin with http:// or https://")
        if self.weights and (len(self.weights) != len(self.urls) or min(self.weights) <= 0):
            raise ValueError(f"weights: one above 0 for each of the {len(self.urls)} urls")
        return self


class SamplerSection(Section):
    """Who samples for the local trainer."""

    type: Literal["embedded", "server"] = "embedded"
    """``server`` is a vLLM or SGLang server on the same machine: ``endpoint.urls`` (one) and ``endpoint.server``. The
    weights are pushed to it after each update (docs/backends.md)."""
    folder: str | None = None
    """Where a server reads the weights from, e.g. below /dev/shm; written before it is started."""


class TinkerSection(Section):
    """Where a model ``tinker:NAME`` is sampled and trained: hosted, or one's own server (docs/backends.md)."""

    base_url: str | None = None
    """Address of one's own server, e.g. ``http://localhost:8000``; unset for the hosted service."""
    reduction: Literal["auto", "sum", "sequence_mean"] = "auto"
    """How the server reduces a loss. ``auto`` takes hosted servers to sum and SkyRL to average, as its JAX backend
    does; set ``sum`` for SkyRL's other backends."""
    deadline_seconds: float = Field(1_800.0, gt=0)
    """Seconds that each call may take: a server that does not know the client's protocol says nothing."""
    check_versions: bool = True
    """Refuse client versions that SkyRL is known not to answer."""
