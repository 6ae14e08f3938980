"""Token ids in, token ids out: the calls of vLLM and SGLang as plain data. No network here.

Paths are below the server's root. vLLM's log-probabilities are those of the distribution that was sampled from only
where it is started with ``--logprobs-mode processed_logprobs``; SGLang's are so unless its environment variable
``SGLANG_RETURN_ORIGINAL_LOGPROB`` is set.

No seed is sent: a server that batches as it likes repeats no run, SGLang heeds one in its deterministic mode alone, and
vLLM's CPU build dies of one when it reads a prompt in parts.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from spadework.policies.base import FinishReason, SamplingParams
from spadework.policies.server.openai_wire import Unusable

Server = Literal["vllm", "sglang"]
Body = dict[str, Any]

SAMPLE: dict[Server, str] = {"vllm": "/v1/completions", "sglang": "/generate"}
ABOUT: dict[Server, str] = {"vllm": "/v1/models", "sglang": "/get_model_info"}
"""Where a server says what it serves."""
MODEL = "spadework"
"""The name that ``launch_command`` gives the model."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """Sampled ids with one log-probability each; the end-of-turn id, where one ended it, is among them."""

    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]
    finish_reason: FinishReason
    weights: int | None = None
    """The number of the weights that sampled them, by the server's own count; ``None`` where it does not say."""


def sample_body(server: Server, model: str, tokens: Sequence[int], params: SamplingParams, stop: Sequence[int]) -> Body:
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
        limits: Body = {"max_new_tokens": params.max_tokens, "no_stop_trim": True}
        return {"input_ids": list(tokens), "sampling_params": common | limits, "return_logprob": True, "stream": False}
    own: Body = {
        "model": model,
        "prompt": list(tokens),
        "max_tokens": params.max_tokens,
        "logprobs": 0,
        "return_token_ids": True,
        "include_stop_str_in_output": True,
        "stream": False,
    }
    return common | own


def read_sample(server: Server, data: Any) -> Sampled:
    """What was sampled. Raises ``Unusable``."""
    weights = None
    try:
        if server == "sglang":
            meta = data["meta_info"]
            weights = _number(meta.get("weight_version"))
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
    return Sampled(tuple(ids), tuple(min(0.0, float(value)) for value in values), reason, weights)


def _number(version: Any) -> int | None:
    """A version as a number; SGLang says ``"default"`` before the first update."""
    return int(version) if isinstance(version, str) and version.isdecimal() else None


def probe_body(server: Server, model: str, tokens: Sequence[int], temperature: float) -> Body:
    """The body that asks for one token, and for the log-probability of the likeliest one."""
    body = sample_body(server, model, tokens, SamplingParams(1, temperature), ())
    return body | ({"top_logprobs_num": 1} if server == "sglang" else {"logprobs": 1})


def read_probe(server: Server, data: Any) -> float:
    """The log-probability of the likeliest token. Raises ``LookupError``, ``TypeError`` or ``ValueError``."""
    if server == "sglang":
        return float(data["meta_info"]["output_top_logprobs"][0][0][0])
    return float(max(data["choices"][0]["logprobs"]["top_logprobs"][0].values()))


def served_models(server: Server, data: Any) -> dict[str, str]:
    """What a server serves, by the answer to ``ABOUT``: names, each with the folder that its weights come from.

    Raises ``LookupError`` or ``TypeError``.
    """
    if server == "sglang":
        return {MODEL: str(data["model_path"])}
    return {str(one["id"]): str(one.get("root") or one["id"]) for one in data["data"]}


def push_calls(server: Server, folder: str, version: int) -> list[tuple[str, Body]]:
    """The calls that make the server read the weights in ``folder`` again, and forget keys and values of the old.

    vLLM keeps the keys and values of requests in flight, and then refuses to forget the others, unless it is told to
    compute those of running requests anew too.
    """
    if server == "sglang":
        body = {"model_path": folder, "weight_version": str(version), "flush_cache": True}
        return [("/update_weights_from_disk", body)]
    return [
        ("/pause?mode=keep", {}),
        ("/collective_rpc", {"method": "reload_weights"}),
        ("/reset_prefix_cache?reset_running_requests=true", {}),
        ("/resume", {}),
    ]


def launch_command(server: Server, folder: str, port: int, max_length: int) -> str:
    """How to start a server that these calls work with.

    It listens on this machine alone: vLLM's development mode, which the pushes need, leaves ``/collective_rpc`` open
    to whoever reaches the port.
    """
    where = f"--host 127.0.0.1 --port {port}"
    if server == "sglang":
        return (
            f"python -m sglang.launch_server --model-path {shlex.quote(folder)} --served-model-name {MODEL} {where} "
            f"--context-length {max_length}"
        )
    return (
        f"VLLM_SERVER_DEV_MODE=1 vllm serve {shlex.quote(folder)} --served-model-name {MODEL} {where} "
        f"--max-model-len {max_length} --logprobs-mode processed_logprobs"
    )
