"""A vLLM or SGLang server's calls over the embedded sampler: it really samples from the folder that it was started on,
and reads it again when it is told to."""

from __future__ import annotations

import asyncio
import atexit
import shutil
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from spadework.domains.games_demo import demo_script
from spadework.policies.base import SamplingParams
from spadework.testing.scripted import ScriptedPolicy
from spadework.testing.stand_in import StandIn


class TokenServer(StandIn):
    """Serves the model in ``folder``, which it reads at the first request.

    ``raw`` gives log-probabilities of temperature 1, as vLLM does unless it is told otherwise.
    """

    def __init__(self, folder: Path, raw: bool = False) -> None:
        super().__init__(ScriptedPolicy(demo_script))
        self.folder, self.raw = folder, raw
        self.calls: list[str] = []
        self.weights = "default"
        """SGLang's name for its weights; a number once they were pushed."""
        self._asked = 0
        self._model: Any = None

    @property
    def root(self) -> str:
        return self.url.removesuffix("/v1")

    def _refusal(self, path: str, body: Mapping[str, Any]) -> tuple[int, str] | None:
        """The list of models is ours: it has the folder that the weights come from."""
        return None if path == "/v1/models" else super()._refusal(path, body)

    async def answer(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        self.calls.append(path)
        if path in ("/health", "/reset_prefix_cache?reset_running_requests=true", "/pause?mode=keep", "/resume"):
            return {}
        if path == "/v1/models":
            return {"data": [{"id": "spadework", "root": str(self.folder)}]}
        if path == "/get_model_info":
            return {"model_path": str(self.folder)}
        if path == "/collective_rpc":
            assert body == {"method": "reload_weights"}
            self._read()
            return {"results": [None]}
        if path == "/update_weights_from_disk":
            assert body["model_path"] == str(self.folder)
            self._read()
            self.weights = body["weight_version"]
            return {"success": True, "message": "Succeeded to update model weights."}
        if path == "/generate":
            return await self._sglang(body)
        assert path == "/v1/completions" and body["model"] in ("spadework", str(self.folder)), path
        return await self._vllm(body)

    async def _vllm(self, body: Mapping[str, Any]) -> dict[str, Any]:
        assert body["return_token_ids"] and body["include_stop_str_in_output"] and "logprobs" in body
        sampled, top = await self._sample(body["prompt"], body, body["max_tokens"])
        logprobs = {"token_logprobs": list(sampled.logprobs)}
        if body["logprobs"]:
            logprobs["top_logprobs"] = [{"top": top}]
        choice = {"token_ids": list(sampled.tokens), "logprobs": logprobs, "finish_reason": sampled.finish_reason}
        return {"choices": [choice]}

    async def _sglang(self, body: Mapping[str, Any]) -> dict[str, Any]:
        assert body["return_logprob"]
        params = body["sampling_params"]
        sampled, top = await self._sample(body["input_ids"], params, params["max_new_tokens"])
        pairs = [[logprob, token, None] for logprob, token in zip(sampled.logprobs, sampled.tokens, strict=True)]
        meta = {"output_token_logprobs": pairs, "finish_reason": {"type": sampled.finish_reason}}
        if body.get("top_logprobs_num"):
            meta["output_top_logprobs"] = [[[top, 0, None]]]
        return {"text": sampled.text, "meta_info": meta | {"weight_version": self.weights}}

    async def _sample(self, prompt: list[int], body: Mapping[str, Any], limit: int) -> tuple[Any, float]:
        import torch

        model = self._loaded()
        top_k = max(body["top_k"], 0)
        stop = tuple(body["stop"] or ())
        params = SamplingParams(limit, body["temperature"], body["top_p"], top_k, stop)
        self._asked += 1
        sampled = await model.sample(prompt, params, (self._asked,))
        with torch.no_grad():
            logits = self._plain(input_ids=torch.tensor([list(prompt)])).logits[0, -1]
        warmth = 1.0 if self.raw else body["temperature"]
        return sampled, float(torch.log_softmax(logits / warmth, dim=-1).max())

    def _loaded(self) -> Any:
        if self._model is None:
            from spadework.policies.local.models import load_model
            from spadework.policies.local.options import LocalOptions
            from spadework.policies.local.policy import load_local

            options = LocalOptions(slots=8, dtype="float32", max_length=1024, threads=1)
            self._model, _ = load_local(str(self.folder), run_seed=0, options=options)
            self._plain = load_model(str(self.folder)).model
        return self._model

    def _read(self) -> None:
        from safetensors.torch import load_file

        self._loaded().set_weights(load_file(self.folder / "model.safetensors"))


def serve(kind: Literal["vllm", "sglang"], raw: bool = False) -> tuple[TokenServer, Any]:
    """A server in a thread of its own until the process ends, and the settings to reach it."""
    from spadework.config import EndpointSection

    folder = Path(tempfile.mkdtemp(prefix="spadework-served-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    server = TokenServer(folder, raw)
    ready = threading.Event()

    async def run() -> None:
        async with server:
            ready.set()
            await stopped.wait()

    stopped = asyncio.Event()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_until_complete, args=(run(),), daemon=True)
    thread.start()
    atexit.register(loop.call_soon_threadsafe, stopped.set)
    ready.wait()
    return server, EndpointSection(urls=(server.root,), server=kind, retries=1, timeout_seconds=60)
