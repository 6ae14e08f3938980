"""The seam to slime, against its documented data structures: what slime makes of our samples is our objective.

slime is not on the package index. Below stand the fields of its ``Sample`` that its documentation names, and its loss
as documented: token-level clipped surrogate with truncated importance weights, summed over the samples' masks and
divided by their number of tokens (``--calculate-per-token-loss``); each mask counts at least one.
"""

from __future__ import annotations

import dataclasses
import sys
from argparse import Namespace
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from serving import serve

from spadework.config.files import load_config
from spadework.errors import ConfigError, RunError
from spadework.integrations.slime import (
    SpadeworkSource,
    Step,
    check_arguments,
    data_parallel_size,
    generate_rollout,
    needed_arguments,
    samples_of,
)
from spadework.runs.store import RunStore
from spadework.types import TrainingRow


@dataclass
class Sample:
    class Status(Enum):
        PENDING = "pending"
        COMPLETED = "completed"
        TRUNCATED = "truncated"
        ABORTED = "aborted"
        FAILED = "failed"

    group_index: int | None = None
    index: int | None = None
    tokens: list[int] = field(default_factory=list)
    response: str = ""
    response_length: int = 0
    reward: float | None = None
    loss_mask: list[int] | None = None
    weight_versions: list[str] = field(default_factory=list)
    rollout_log_probs: list[float] | None = None
    remove_sample: bool = False
    status: Status = Status.PENDING
    metadata: dict[str, Any] = field(default_factory=dict)
    rollout_id: int | None = None


@dataclass
class RolloutFnTrainOutput:
    samples: list[list[Sample]]
    metrics: dict[str, Any] | None = None


@pytest.fixture
def slime(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, attribute in (("slime.utils.types", Sample), ("slime.rollout.base_types", RolloutFnTrainOutput)):
        module = ModuleType(name)
        setattr(module, attribute.__name__, attribute)
        monkeypatch.setitem(sys.modules, name, module)


def row(tokens: int, first: int, advantage: float, group: str = "a") -> TrainingRow:
    mask = tuple(i >= first and i % 5 != 0 for i in range(tokens))
    return TrainingRow(
        tokens=tuple((7 * i + tokens) % 250 for i in range(tokens)),
        loss_mask=mask,
        logprobs=tuple(-4.0 - 0.1 * (i % 3) if m else 0.0 for i, m in enumerate(mask)),
        advantages=tuple(advantage if m else 0.0 for m in mask),
        role="agent",
        group_id=group,
        source_id=f"{group}/{tokens}",
        policy_version=3,
    )


ROWS = [row(20, 6, 0.02), row(13, 4, -0.01), row(31, 9, 0.05, "b")]


def arguments(config: Any, **others: Any) -> Namespace:
    needed = {need.name: need.value for need in needed_arguments(config)}
    ranks = {"actor_num_nodes": 1, "actor_num_gpus_per_node": 8, "tensor_model_parallel_size": 2}
    return Namespace(**needed, **ranks, global_batch_size=4, **others)


def test_samples_hold_the_rows() -> None:
    groups = samples_of(ROWS, Sample, Step(2, 4))
    assert [len(group) for group in groups] == [2, 1, 1]
    made = [one for group in groups for one in group]
    assert [one.index for one in made] == [0, 1, 2, 3] and [one.group_index for one in made] == [0, 0, 1, 2]
    for one, source in zip(made, ROWS, strict=False):
        prompt = len(source.tokens) - one.response_length
        assert one.tokens == list(source.tokens) and one.weight_versions == ["3"]
        assert len(one.loss_mask or ()) == len(one.rollout_log_probs or ()) == one.response_length
        assert tuple(map(bool, one.loss_mask or ())) == source.loss_mask[prompt:] and not any(source.loss_mask[:prompt])
        assert tuple(one.rollout_log_probs or ()) == source.logprobs[prompt:]
    padding = made[-1]
    assert not any(padding.loss_mask or [1]) and padding.reward == 0.0


@pytest.mark.parametrize("count", [0, 1, 3, 500])
def test_one_step_takes_every_sample(count: int) -> None:
    """A step is as many rollout ids as the batch size: all of them occur, and the ranks can share the samples."""
    samples = [one for group in samples_of((ROWS * 200)[:count], Sample, Step(16, 4)) for one in group]
    assert {one.rollout_id for one in samples} == set(range(16))
    assert len(samples) % 4 == 0 and sum(any(one.loss_mask or ()) for one in samples) == count


def test_what_slime_makes_of_them_is_our_gradient() -> None:
    torch = pytest.importorskip("torch")
    from reference import gradient_norm, logprobs_of

    from spadework.policies.base import Hyperparameters
    from spadework.policies.local.models import load_model

    hp = Hyperparameters()
    model = load_model("tiny-random", seed=3).model.train(False)
    expected = gradient_norm(model, ROWS, hp)
    model.zero_grad()
    samples = [one for group in samples_of(ROWS, Sample, Step(2, 4)) for one in group]
    tokens = sum(max(1, sum(one.loss_mask or ())) for one in samples)
    for one in samples:
        current = logprobs_of(model, one.tokens)[-one.response_length :]
        old = current.detach()
        weight = (old - torch.tensor(one.rollout_log_probs)).exp().clamp(0, hp.importance_cap)
        ratio = (current - old).exp()
        bounded = ratio.clamp(1 - hp.clip_low, 1 + hp.clip_high)
        loss = -torch.minimum(ratio * one.reward, bounded * one.reward) * weight * torch.tensor(one.loss_mask)
        (loss.sum() / tokens).backward()
    found = torch.stack([p.grad.pow(2).sum() for p in model.parameters() if p.grad is not None]).sum().sqrt()
    assert float(found) == pytest.approx(expected, rel=1e-4)


def test_a_row_has_one_advantage() -> None:
    several = dataclasses.replace(ROWS[0], advantages=tuple(0.1 * i for i in range(20)))
    with pytest.raises(ValueError, match="one reward"):
        samples_of([several], Sample, Step(1, 1))


@pytest.mark.parametrize("name", ["games-4b", "games-8b", "games-30b", "tool-use-4b"])
def test_arguments_that_do_not_fit_are_named(name: str) -> None:
    config = load_config(name)
    args = arguments(config)
    check_arguments(args, config)
    assert data_parallel_size(args) == 4
    args.calculate_per_token_loss, args.rollout_temperature = False, 0.9
    with pytest.raises(ConfigError, match="--calculate-per-token-loss") as caught:
        check_arguments(args, config)
    assert "--rollout-temperature 0.6" in str(caught.value) and "--use-tis" not in str(caught.value)


CHANGES = """extends = "{tiny}"
[run]
deterministic = false
[warmup]
enabled = false
[designer]
temperature = 1.0
"""


@pytest.mark.usefixtures("slime")
def test_slime_runs_cycles_and_goes_on_where_it_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from spadework.policies.local.models import load_model
    from spadework.resources import shipped

    server, settings = serve("sglang")
    loaded = load_model("tiny-random", seed=3)
    loaded.model.save_pretrained(server.folder)
    loaded.tokenizer.save_pretrained(server.folder)
    path = tmp_path / "slime.toml"
    path.write_text(CHANGES.format(tiny=shipped("configs") / "tiny.toml"))
    monkeypatch.setenv("SPADEWORK_CONFIG", str(path))
    monkeypatch.setenv("SPADEWORK_RUN", str(tmp_path / "run"))
    host, port = settings.urls[0].removeprefix("http://").split(":")
    args = arguments(
        load_config(str(path)), sglang_router_ip=host, sglang_router_port=port, hf_checkpoint=str(server.folder)
    )
    source = SpadeworkSource(args)
    source.load(None)
    first = generate_rollout(args, 0, source)
    source.save(0)
    generate_rollout(args, 1, source)
    source.run.close()
    samples = [one for group in first.samples for one in group]
    assert len(samples) % 4 == 0 and "pool/size" in first.metrics

    path.write_text(path.read_text() + "max_tokens = 90\n")
    with pytest.raises(RunError, match=r"(?s)designer\.max_tokens: .* -> 90.*SPADEWORK_CHANGE_CONFIG=1"):
        SpadeworkSource(args)
    monkeypatch.setenv("SPADEWORK_CHANGE_CONFIG", "1")
    again = SpadeworkSource(args)
    with pytest.raises(RunError, match="of cycle 0"):
        again.load(1)
    again.load(0)
    generate_rollout(args, 1, again)
    again.run.close()
    store = RunStore.read(tmp_path / "run")
    cycles = {int(play["cycle"]) for play in store.rows("plays")}
    versions = {s.policy_version for one in store.episode_files() for e in _episodes(one) for s in e.segments}
    store.close()
    assert cycles == {0, 1} and versions == {0, 1}


def _episodes(path: Path) -> Any:
    from spadework.runs.tables import read_episodes

    return read_episodes(path)
