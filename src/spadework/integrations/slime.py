"""SPADE under slime (Ray, Megatron, SGLang): slime owns the loop and asks for each rollout's samples.

    --data-source-path spadework.integrations.slime.SpadeworkSource
    --rollout-function-path spadework.integrations.slime.generate_rollout

The environment variables ``SPADEWORK_CONFIG`` and ``SPADEWORK_RUN`` name the config and the run directory.
``SPADEWORK_CHANGE_CONFIG=1`` lets a run continue with other settings than those it was started with.
Written against slime 0.3.1, in which rollout ids make up a step, and its ``train.py``. A row becomes a ``Sample``
with its token ids, loss mask and the log-probabilities at sampling. Our loss is a sum over tokens, but slime with
``--calculate-per-token-loss`` divides that sum by the number of trained tokens in the batch. So a sample's reward is
its row's advantage times that number, and the division cancels. ``check_arguments`` names every argument of slime that
this relies on (docs/backends.md).
"""

from __future__ import annotations

import importlib
import itertools
import os
from argparse import Namespace
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spadework.config import EndpointSection, RunConfig
from spadework.config.files import load_config
from spadework.errors import ConfigError
from spadework.integrations.driven import DrivenRun
from spadework.policies.server.token_server import TokenPolicy
from spadework.policies.template import HFTemplate
from spadework.policies.thinking import check_thinking
from spadework.types import TrainingRow

CONFIG, RUN, CHANGE = "SPADEWORK_CONFIG", "SPADEWORK_RUN", "SPADEWORK_CHANGE_CONFIG"


@dataclass(frozen=True, slots=True)
class Needed:
    """An argument of slime, the value that it must have, and its command-line form."""

    name: str
    value: Any
    flag: str


def check_arguments(args: Namespace, config: RunConfig) -> None:
    """Raise ``ConfigError`` where slime's arguments disagree with the config about how to train."""
    wrong = [need for need in needed_arguments(config) if getattr(args, need.name, None) != need.value]
    if wrong:
        lines = [f"  {need.flag}   (now {need.name} = {getattr(args, need.name, None)!r})" for need in wrong]
        raise ConfigError("slime's arguments do not fit the config; they must hold:\n" + "\n".join(lines))
    if (
        config.designer.train
        and config.designer.environments
        and config.designer.temperature != config.play.temperature
    ):
        raise ConfigError("slime trains all rows at one temperature: set designer.temperature to play.temperature")
    if config.run.evaluate_every:
        raise ConfigError(
            "run.evaluate_every is not done inside slime: set it to 0, and score converted checkpoints with "
            "spadework eval"
        )


def needed_arguments(config: RunConfig) -> list[Needed]:
    """The arguments that slime must be started with for a config."""
    update = config.update
    return [
        Needed("advantage_estimator", "grpo", "--advantage-estimator grpo"),
        Needed("rewards_normalization", False, "--disable-rewards-normalization"),
        Needed("normalize_advantages", False, "no --normalize-advantages"),
        Needed("calculate_per_token_loss", True, "--calculate-per-token-loss"),
        Needed("use_dynamic_batch_size", True, "--use-dynamic-batch-size"),
        Needed("rollout_top_p", config.play.top_p, f"--rollout-top-p {config.play.top_p:g}"),
        Needed("use_tis", True, "--use-tis"),
        Needed("tis_clip", update.importance_cap, f"--tis-clip {update.importance_cap}"),
        Needed("tis_clip_low", 0, "--tis-clip-low 0"),
        Needed("eps_clip", update.clip_low, f"--eps-clip {update.clip_low}"),
        Needed("eps_clip_high", update.clip_high, f"--eps-clip-high {update.clip_high}"),
        Needed("use_kl_loss", update.kl_coef > 0, "--use-kl-loss" if update.kl_coef else "no --use-kl-loss"),
        *(
            [
                Needed("kl_loss_coef", update.kl_coef, f"--kl-loss-coef {update.kl_coef}"),
                Needed("kl_loss_type", "low_var_kl", "--kl-loss-type low_var_kl"),
            ]
            if update.kl_coef
            else []
        ),
        Needed("entropy_coef", update.entropy_coef, f"--entropy-coef {update.entropy_coef:g}"),
        Needed("rollout_temperature", config.play.temperature, f"--rollout-temperature {config.play.temperature}"),
    ]


class SpadeworkSource:
    """slime's data source. It holds the run, whose state is saved and restored with slime's checkpoints."""

    def __init__(self, args: Namespace) -> None:
        name, run = os.environ.get(CONFIG), os.environ.get(RUN)
        if not name or not run:
            raise ConfigError(f"set {CONFIG} to a config and {RUN} to a run directory")
        config = load_config(name)
        check_arguments(args, config)
        change, how = bool(os.environ.get(CHANGE)), f"set {CHANGE}=1"
        self.run = DrivenRun(config, Path(run), _policy(args, config), change_config=change, how=how)

    def get_samples(self, num_samples: int) -> list[list[Any]]:
        """Always raises: there are no prompts to sample, because ``generate_rollout`` collects a whole cycle."""
        raise NotImplementedError("spadework's rollout function needs no prompts: set --rollout-function-path too")

    def add_samples(self, samples: list[list[Any]]) -> None:
        """Always raises, because no samples are kept between rollouts."""
        raise NotImplementedError("spadework keeps no samples between rollouts")

    def save(self, rollout_id: int) -> None:
        """Store the run's state; slime calls this when it has saved the weights after a rollout."""
        self.run.saved(rollout_id)

    def load(self, rollout_id: int | None = None) -> None:
        """Restore the run's state after a rollout; ``None`` means a fresh start. Raises ``RunError``."""
        if rollout_id is not None and rollout_id >= 0:
            self.run.restore(rollout_id)

    def __len__(self) -> int:
        """0, because there are no prompts; ``--num-rollout`` sets the length of training."""
        return 0


def generate_rollout(args: Namespace, rollout_id: int, data_source: SpadeworkSource, evaluation: bool = False) -> Any:
    """Slime's rollout function: collect one cycle of self-play as a ``RolloutFnTrainOutput``.

    Raises:
        ConfigError: slime asked for an evaluation; use ``spadework eval`` on exported weights instead.
    """
    if evaluation:
        raise ConfigError("evaluation inside slime is not supported: leave out --eval-interval")
    types = importlib.import_module("slime.utils.types")
    outputs = importlib.import_module("slime.rollout.base_types")
    policy: Any = data_source.run.policy
    policy.set_version(rollout_id)
    rows, metrics = data_source.run.collect(rollout_id)
    groups = samples_of(rows, types.Sample, step_of(args))
    return outputs.RolloutFnTrainOutput(samples=groups, metrics=metrics)


@dataclass(frozen=True, slots=True)
class Step:
    """What slime takes for one optimiser step.

    It collects the samples of ``batch`` rollout ids (``--global-batch-size``), and drops the ids that fill no step. It
    deals the samples out in micro-batches, of which each of ``ranks`` data-parallel ranks gets equally many.
    """

    batch: int
    ranks: int


def step_of(args: Namespace) -> Step:
    """The shape of a step by slime's arguments."""
    return Step(int(args.global_batch_size), data_parallel_size(args))


def samples_of(rows: Iterable[TrainingRow], sample: Callable[[], Any], step: Step) -> list[list[Any]]:
    """Convert training rows to slime's samples, in groups: one optimiser step, of which nothing is dropped.

    The samples share ``step.batch`` rollout ids in turn. Our loss is per token, so an id has no other meaning. Samples
    that train nothing are added until every id is used and the ranks can share them; a cycle without rows consists of
    such samples alone, and its gradient is zero.

    Args:
        rows: The rows of one cycle. A row's advantage must be the same on all of its sampled tokens.
        sample: slime's ``Sample``.
        step: What slime takes for one step.

    Raises:
        ValueError: A row has several advantages.
    """
    made = [(row.group_id, _sample(row, sample())) for row in rows]
    wanted = max(len(made), step.batch)
    padding = wanted + -wanted % step.ranks - len(made)
    made += [("padding", _padding(sample())) for _ in range(padding)]
    # slime counts at least one token for a sample, even if none of its tokens is trained.
    tokens = sum(max(1, sum(one.loss_mask)) for _, one in made)
    for index, (_, one) in enumerate(made):
        one.index, one.rollout_id = index, index % step.batch
        one.reward *= tokens
    grouped = [[one for _, one in group] for _, group in itertools.groupby(made, key=lambda item: item[0])]
    for index, group in enumerate(grouped):
        for one in group:
            one.group_index = index
    return grouped


def data_parallel_size(args: Namespace) -> int:
    """The number of data-parallel ranks, from slime's arguments."""
    world = int(args.actor_num_nodes) * int(args.actor_num_gpus_per_node)
    model = [getattr(args, f"{kind}_parallel_size", 1) for kind in ("tensor_model", "pipeline_model", "context")]
    return max(1, world // (int(model[0]) * int(model[1]) * int(model[2])))


def _sample(row: TrainingRow, one: Any) -> Any:
    advantages = {advantage for advantage, sampled in zip(row.advantages, row.loss_mask, strict=True) if sampled}
    if len(advantages) != 1:
        raise ValueError(f"{row.source_id}: a sample has one reward, but the row has advantages {sorted(advantages)}")
    first = row.loss_mask.index(True)
    one.tokens = list(row.tokens)
    one.response_length = len(row.tokens) - first
    one.loss_mask = [int(sampled) for sampled in row.loss_mask[first:]]
    one.rollout_log_probs = list(row.logprobs[first:])
    one.reward = advantages.pop()
    one.weight_versions = [str(row.policy_version)]
    one.status = type(one).Status.COMPLETED
    one.metadata = {"role": row.role, "source_id": row.source_id}
    return one


def _padding(one: Any) -> Any:
    one.tokens, one.response_length, one.loss_mask, one.rollout_log_probs = [0, 0], 1, [0], [0.0]
    one.reward, one.status, one.metadata = 0.0, type(one).Status.COMPLETED, {"role": "padding"}
    return one


def _policy(args: Namespace, config: RunConfig) -> TokenPolicy:
    """A policy that samples through slime's SGLang router."""
    from transformers import AutoTokenizer

    url = f"http://{args.sglang_router_ip}:{args.sglang_router_port}"
    given = config.endpoint.model_dump(exclude={"urls", "weights", "server"})
    settings = EndpointSection(urls=(url,), server="sglang", **given)
    template = HFTemplate(AutoTokenizer.from_pretrained(args.hf_checkpoint))
    policy = TokenPolicy(settings, args.hf_checkpoint, template, max_length=config.model.max_length)
    asked = {
        "play.thinking": config.play.thinking,
        "designer.thinking": config.designer.thinking,
        "hint.thinking": config.hint.thinking,
    }
    check_thinking(policy, asked)
    return policy
