"""The seam to TRL's asynchronous GRPO: a worker that its trainer can drain, and samples that hold our rows.

TRL is no dependency; where it is installed, the fields of its ``RolloutSample`` are compared with those used here.
"""

from __future__ import annotations

import dataclasses
import queue
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from serving import serve

from spadework.config.files import load_config
from spadework.errors import ConfigError
from spadework.integrations.trl import RolloutWorker, samples_of
from spadework.runs.store import RunStore
from spadework.types import TrainingRow

MODULE = "trl.experimental.async_grpo.async_rollout_worker"


@dataclass(slots=True)
class RolloutSample:
    prompt: Any
    completion: Any
    input_ids: Any
    completion_mask: Any
    old_log_probs: Any
    advantage: float
    model_version: int
    group_id: int
    metrics: dict[str, float]
    enqueued_at: float | None = None


def test_the_fields_are_those_of_trl() -> None:
    pytest.importorskip("trl", reason="TRL is not installed")
    module = pytest.importorskip(MODULE)
    assert [f.name for f in dataclasses.fields(module.RolloutSample)] == [
        f.name for f in dataclasses.fields(RolloutSample)
    ]
    protocol = sys.modules["trl.experimental.async_grpo.async_grpo_trainer"].RolloutWorkerProtocol
    for name in ("start", "stop", "update_model_version", "check_health"):
        assert hasattr(protocol, name) and hasattr(RolloutWorker, name)


def rows() -> list[TrainingRow]:
    return [
        TrainingRow(
            tokens=tuple(range(10 + k)),
            loss_mask=tuple(i > 4 for i in range(10 + k)),
            logprobs=tuple(-0.5 if i > 4 else 0.0 for i in range(10 + k)),
            advantages=tuple(0.01 * (k - 1) if i > 4 else 0.0 for i in range(10 + k)),
            role="agent",
            group_id=f"g{k // 2}",
            source_id=str(k),
            policy_version=0,
        )
        for k in (0, 2, 3)
    ]


def test_samples_hold_the_rows_and_steps_are_whole() -> None:
    made = samples_of(rows(), RolloutSample, 4, 7)
    assert len(made) == 4 and [one.group_id for one in made[:3]] == [0, 1, 1]
    tokens = sum(sum(row.loss_mask) for row in rows())
    for one, row in zip(made, rows(), strict=False):
        assert one.input_ids.tolist() == list(row.tokens)
        assert one.completion_mask.tolist() == [int(m) for m in row.loss_mask]
        assert one.old_log_probs.tolist() == pytest.approx(list(row.logprobs))
        assert one.advantage / tokens == pytest.approx(row.advantages[-1])
        assert one.model_version == 7
    assert made[3].advantage == 0.0 and made[3].completion_mask.any()


def take(worker: RolloutWorker) -> dict[str, float]:
    """The next cycle's metrics; what went wrong in the worker is raised here."""
    while True:
        try:
            return worker.metrics_queue.get(timeout=1)
        except queue.Empty:
            worker.check_health(0)


def test_a_worker_plays_on_when_its_samples_are_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from spadework.policies.local.models import load_model
    from spadework.policies.template import HFTemplate

    module = ModuleType(MODULE)
    module.RolloutSample = RolloutSample  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, MODULE, module)
    server, settings = serve("vllm")
    loaded = load_model("tiny-random", seed=3)
    loaded.model.save_pretrained(server.folder)
    loaded.tokenizer.save_pretrained(server.folder)
    changes = (
        "run.cycles=2",
        "run.deterministic=false",
        "warmup.enabled=false",
        "designer.temperature=1.0",
        f"model.name={server.folder}",
        f'endpoint.urls=["{settings.urls[0]}"]',
        "endpoint.server=vllm",
    )
    config = load_config("tiny", changes)
    worker = RolloutWorker(config, tmp_path / "run", HFTemplate(loaded.tokenizer), 3)
    worker.update_model_version(1)
    worker.start()
    version = 1
    for _ in range(2):  # one set of metrics a cycle
        metrics = take(worker)
        assert metrics["spadework/pool/size"] >= 1
        while version < worker._due or not worker.rollout_buffer.empty():
            batch = [worker.rollout_buffer.get(timeout=60) for _ in range(3)]
            assert {one.model_version for one in batch} <= {version, version - 1, version - 2, version - 3, 1}
            version += 1
            worker.update_model_version(version)
    worker._thread.join(timeout=300)
    worker.check_health(1e9)
    worker.stop()
    store = RunStore.read(tmp_path / "run")
    assert {int(play["cycle"]) for play in store.rows("plays")} == {0, 1}
    store.close()


def test_what_trl_cannot_express_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="one vLLM server"):
        RolloutWorker(load_config("games-4b"), tmp_path, None, 8)  # type: ignore[arg-type]
