"""Token ids in, token ids out: the calls of vLLM and SGLang as plain data. No network here.

Paths are below the server's root. vLLM's log-probabilities are those of the distribution that was sampled from only
where it is started with ``--logprobs-mode processed_logprobs``; SGLang's are so by default.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from spadework.policies.base import FinishReason, SamplingParams
from spadework.policies.server.openai_wire import Unusable

Server = Literal["vllm", "sglang"]
Body = dict[str, Any]

SAMPLE: dict[Server, str] = {"vllm": "/v1/completions", "sglang": "/generate"}


@dataclass(frozen=True, slots=True)
class Sampled:
    """Sampled ids with one log-probability each; the end-of-turn id, where one ended it, is among them."""

    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]
    finish_reason: FinishReason


def sample_body(
    server: Server, model: str, tokens: Sequence[int], params: SamplingParams, stop: Sequence[int], seed: int
) -> Body:
    """The body that continues a row of ids; ``stop`` ids end it."""
    common: Body = {
        "temperature": params.temperature,
        "top_p": params.top_p,
        "top_k": params.top_k or -1,
        "stop": list(params.stop) or None,
        "stop_token_ids": list(stop),
        "skip_special_tokens": False,
    }
    if server == "sglang":
        limits: Body = {"max_new_tokens": params.max_tokens, "no_stop_trim": True, "sampling_seed": seed}
        return {"input_ids": list(tokens), "sampling_params": common | limits, "return_logprob": True, "stream": False}
    own: Body = {
        "model": model,
        "prompt": list(tokens),
        "max_tokens": params.max_tokens,
        "seed": seed,
        "logprobs": 0,
        "return_token_ids": True,
        "include_stop_str_in_output": True,
        "stream": False,
    }
    return common | own


def read_sample(server: Server, data: Any) -> Sampled:
    """What was sampled. Raises ``Unusable``."""
    try:
        if server == "sglang":
            meta = data["meta_info"]
            pairs = meta["output_token_logprobs"]
            ids, values = [pair[1] for pair in pairs], [pair[0] for pair in pairs]
            reason = meta["finish_reason"]["type"]
        else:
            choice = data["choices"][0]
            ids, values = choice["token_ids"], choice["logprobs"]["token_logprobs"]
            reason = choice["finish_reason"]
    except (LookupError, TypeError) as error:
        raise Unusable(f"it lacks token ids or log-probabilities ({error!r})") from None
    if not isinstance(ids, list) or not isinstance(values, list) or len(ids) != len(values) or not ids:
        raise Unusable("its ids and log-probabilities are not as many, or none")
    if not all(type(token) is int and token >= 0 for token in ids):
        raise Unusable("a token id is no number")
    if not all(isinstance(value, int | float) and math.isfinite(value) and value <= 1e-4 for value in values):
        raise Unusable("a log-probability is no finite number of at most 0")
    if reason not in ("stop", "length"):
        raise Unusable(f"it ended by {reason!r}")
    return Sampled(tuple(ids), tuple(min(0.0, float(value)) for value in values), reason)


def push_calls(server: Server, folder: str, version: int) -> list[tuple[str, Body]]:
    """The calls that make the server read the weights in ``folder`` again, and forget keys and values of the old."""
    if server == "sglang":
        body = {"model_path": folder, "weight_version": str(version), "flush_cache": True}
        return [("/update_weights_from_disk", body)]
    return [
        ("/pause?mode=keep", {}),
        ("/collective_rpc", {"method": "reload_weights"}),
        ("/reset_prefix_cache", {}),
        ("/resume", {}),
    ]


def launch_command(server: Server, folder: str, port: int, max_length: int) -> str:
    """How to start a server that these calls work with."""
    if server == "sglang":
        return f"python -m sglang.launch_server --model-path {folder} --port {port} --context-length {max_length}"
    return (
        f"VLLM_SERVER_DEV_MODE=1 vllm serve {folder} --port {port} --max-model-len {max_length} "
        "--logprobs-mode processed_logprobs"
    )
