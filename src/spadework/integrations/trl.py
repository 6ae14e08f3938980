"""SPADE under TRL's asynchronous GRPO trainer, as its rollout worker. Experimental, like that trainer.

    worker = RolloutWorker(config, path, template, samples_per_step=32)
    trainer = AsyncGRPOTrainer(model, args=AsyncGRPOConfig(...), rollout_worker=worker)

TRL has no cycles: each step takes a fixed number of samples and averages the loss over their tokens. Advantages are
scaled so that each step estimates the sum over its cycle. The ratio is clipped against the policy that sampled, since
TRL has no truncated importance weights. The plain ``GRPOTrainer`` centres advantages itself and cannot be used.
"""

from __future__ import annotations

import importlib
import queue
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spadework.config import RunConfig
from spadework.errors import ConfigError
from spadework.integrations.driven import DrivenRun
from spadework.policies.server.token_server import TokenPolicy
from spadework.policies.template import HFTemplate
from spadework.types import TrainingRow as Row


class RolloutWorker:
    """Implements TRL's ``RolloutWorkerProtocol``: a thread plays the next cycle once the last one has been trained on.

    Args:
        config: The run's config. ``endpoint`` is TRL's vLLM server, started with ``--logprobs-mode
            processed_logprobs``.
        path: The run directory.
        template: The model's chat template.
        samples_per_step: Samples per optimiser step of TRL: batch size per device x processes x accumulation.
        change_config: Whether a run that was started with other settings continues under ``config``.

    Raises:
        ConfigError: The endpoint is not a single vLLM server, or the roles are sampled at different temperatures.
    """

    def __init__(
        self, config: RunConfig, path: Path, template: HFTemplate, samples_per_step: int, *, change_config: bool = False
    ) -> None:
        endpoint = config.endpoint
        if endpoint.server != "vllm" or len(endpoint.urls) != 1:
            raise ConfigError('TRL samples from one vLLM server: set endpoint.urls and endpoint.server = "vllm"')
        if config.designer.train and config.designer.temperature != config.play.temperature:
            raise ConfigError("TRL trains all rows at one temperature: set designer.temperature to play.temperature")
        model = config.model.name
        policy = TokenPolicy(endpoint, model, template, max_length=config.model.max_length)
        self._config, self._policy, self._per_step = config, policy, samples_per_step
        self._run = DrivenRun(config, path, policy, change_config=change_config, how="pass change_config=True")
        self.rollout_buffer: queue.Queue[Any] = queue.Queue()
        self.metrics_queue: queue.Queue[dict[str, float]] = queue.Queue()
        self._version, self._due = 0, 0
        self._changed = threading.Condition()
        self._stopped = False
        self._failure: BaseException | None = None
        self._alive = time.monotonic()
        self._thread = threading.Thread(target=self._work, name="spadework-rollouts", daemon=True)

    def start(self) -> None:
        """Start the thread, which begins with the first cycle."""
        self._thread.start()

    def stop(self) -> None:
        """Stop after the current cycle."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        self._thread.join()
        self._run.close()

    def update_model_version(self, model_version: int) -> None:
        """TRL calls this when the server has the weights of another optimiser step."""
        with self._changed:
            self._version = model_version
            self._policy.set_version(model_version)
            self._changed.notify_all()

    def check_health(self, stale_after_s: float) -> None:
        """Raise ``RuntimeError`` when a cycle has failed or the thread has ended."""
        if self._failure is not None:
            raise RuntimeError(f"spadework's rollouts failed: {self._failure}") from self._failure
        if not self._thread.is_alive() and time.monotonic() - self._alive > stale_after_s:
            raise RuntimeError("spadework has played all cycles: set max_steps to what they train")

    def _work(self) -> None:
        try:
            for cycle in range(self._config.run.cycles):
                if not self._wait():
                    return
                rows, metrics = self._run.collect(cycle)
                sample = importlib.import_module("trl.experimental.async_grpo.async_rollout_worker").RolloutSample
                with self._changed:
                    made = samples_of(rows, sample, self._per_step, self._version)
                    self._due = self._version + len(made) // self._per_step
                for one in made:
                    self.rollout_buffer.put(one)
                self.metrics_queue.put({f"spadework/{name}": value for name, value in metrics.items()})
                self._alive = time.monotonic()
        except Exception as error:  # noqa: BLE001 - check_health raises it in the trainer
            self._failure = error

    def _wait(self) -> bool:
        """Wait until the samples of the last cycle have been trained on; returns false when stopped."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._version >= self._due)
            return not self._stopped


def samples_of(rows: Sequence[Row], sample: Callable[..., Any], per_step: int, version: int) -> list[Any]:
    """Convert training rows to TRL's samples, padded to whole steps with samples that train nothing.

    Args:
        rows: The rows of one cycle. A row's advantage must be the same on all of its sampled tokens.
        sample: TRL's ``RolloutSample``.
        per_step: The number of samples per optimiser step.
        version: The version of the current weights, which all samples are given. TRL drops samples of old versions,
            but the rows of designs are older on purpose.
    """
    tokens = sum(sum(row.loss_mask) for row in rows)
    groups = {name: index for index, name in enumerate(dict.fromkeys(row.group_id for row in rows))}
    made = []
    for row in rows:
        advantage = next(value for value, sampled in zip(row.advantages, row.loss_mask, strict=True) if sampled)
        made.append(_sample(row, advantage * tokens, groups[row.group_id], version, sample))
    # A sample needs a token that counts; advantage 0 trains nothing.
    made += [_sample(rows[0], 0.0, len(groups), version, sample) for _ in range(-len(made) % per_step)]
    return made


def _sample(row: Row, advantage: float, group: int, version: int, sample: Callable[..., Any]) -> Any:
    return sample(
        prompt=[],
        completion=[],
        input_ids=np.asarray(row.tokens, dtype=np.int64),
        completion_mask=np.asarray(row.loss_mask, dtype=np.int64),
        old_log_probs=np.asarray(row.logprobs, dtype=np.float32),
        advantage=advantage,
        model_version=version,
        group_id=group,
        metrics={},
    )
