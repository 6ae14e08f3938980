"""The package's entry point for inspect-ai: the suites as tasks, and our models as a model provider."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI, ModelOutput, ModelUsage, modelapi
from inspect_ai.tool import ToolChoice, ToolInfo

from spadework import build
from spadework.config import RunConfig
from spadework.config.files import load_config, override_config
from spadework.errors import PolicyError
from spadework.evals.inspect_tasks import aime2025, aime2026, gpqa, reasoning_gym, suite_task
from spadework.evals.questions import QuestionSuite
from spadework.evals.registry import SuiteOptions, open_suite
from spadework.policies.base import Message, Policy, SamplingParams
from spadework.types import derive_seed

__all__ = ["SpadeworkModel", "aime2025", "aime2026", "gpqa", "livecodebench", "reasoning_gym"]

MOST_TOKENS = 2_048
"""Limit of new tokens where a task sets none."""


@task
def livecodebench(data: str, preset: str = "paper") -> Task:
    """LiveCodeBench with the user's file; programs run in this package's sandbox."""
    sandbox = build.build_sandbox(RunConfig())
    suite = open_suite("livecodebench", SuiteOptions(preset=preset, data=Path(data), sandbox=sandbox))
    assert isinstance(suite, QuestionSuite)
    return suite_task(suite)


@modelapi(name="spadework")
class SpadeworkModel(ModelAPI):
    """The provider of ``--model spadework/NAME``, a model's name or folder; ``-M config=FILE`` sets up the engine."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - the signature that inspect-ai calls
        **options: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        base = load_config(options["config"]) if "config" in options else RunConfig()
        self._config = override_config(base, [f"model.name={model_name!r}"])
        self._policy: Policy | None = None
        self._opening = asyncio.Lock()

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        """Sample one reply, seeded by the conversation and by ``config.seed``."""
        async with self._opening:  # concurrent first requests must not open two engines
            if self._policy is None:
                sandbox = build.build_sandbox(self._config)
                self._policy = await build.build_policy(self._config, sandbox, lambda note: None)
        messages = [Message(role=one.role, content=one.text) for one in input]
        sampling = SamplingParams(
            max_tokens=config.max_tokens or MOST_TOKENS,
            temperature=1.0 if config.temperature is None else config.temperature,
            top_p=config.top_p or 1.0,
            top_k=config.top_k or 0,
            stop=tuple(config.stop_seqs or ()),
        )
        key = (derive_seed(config.seed or 0, *(message["content"] for message in messages)),)
        try:
            with self._policy.attend():
                completion = await self._policy.chat(messages).reply(sampling, key)
        except PolicyError as error:
            raise RuntimeError(str(error)) from error
        stop = "stop" if completion.finish_reason == "stop" else "max_tokens"
        output = ModelOutput.from_content(self.model_name, completion.text, stop_reason=stop)
        output.usage = ModelUsage(output_tokens=len(completion.tokens), total_tokens=len(completion.tokens))
        return output

    def connection_key(self) -> str:
        """Requests with the same key share inspect-ai's limit on connections; there is one key per model."""
        return f"spadework/{self.model_name}"

    async def aclose(self) -> None:
        """Close the model."""
        if self._policy is not None:
            await self._policy.close()
