"""``TinkerTrainer``: one update of an adapter behind the Tinker API, with our own advantages.

The loss is that of ``Hyperparameters``, with the ratio of each token. A first pass over the batch gives the
log-probabilities at the start of the update. They are sent to the server as those of the sampler, and the truncated
importance weights are multiplied into the advantages; the server's ``ppo`` loss is then ours term by term. ``_datum``
corrects for servers that take means over sequences.

The API has no KL term, so the gradient of the KL at the start of the update is added to the advantages. That is exact
for the first optimiser step of a batch.
"""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import json
import shutil
import tarfile
import tempfile
import time
import urllib.request
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spadework import types
from spadework.errors import ConfigError, PolicyError, RunError
from spadework.policies.base import Caps, Hyperparameters, Metrics
from spadework.policies.hyperparameters import plan_steps
from spadework.policies.template import HFTemplate
from spadework.policies.tinker.policy import TinkerLink, TinkerOptions, TinkerPolicy, connect

_STATE = "tinker.json"
_FORMAT = 1
_EPS = 1e-8
"""Of Adam, as torch has it; the API's own default is smaller."""
_CLIPS = ("clip_low_threshold", "clip_high_threshold")

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Targets:
    """A row as the server takes it. All columns have one entry less than the row has tokens, whose first is given."""

    row: types.TrainingRow
    mask: NDArray[np.bool_]
    old: Floats
    """Log-probabilities at the start of the update."""
    advantages: Floats
    """Advantages times importance weights, minus the gradient of the KL term; 0 where nothing trains."""


class TinkerTrainer:
    """``Trainer`` of an adapter on a server, with which a ``TinkerPolicy`` samples.

    Args:
        link: The connection to the service.
        policy: Gets the trained weights at ``sync``.
        client: The service's training client.
        model: The base model's name on the server.
    """

    def __init__(self, link: TinkerLink, policy: TinkerPolicy, client: Any, model: str) -> None:
        self._link, self._policy, self._client, self._model = link, policy, client, model
        self._base: Any = None

    @property
    def caps(self) -> Caps:
        """Everything but determinism: the server forms its batches by itself."""
        return Caps(token_ids=True, logprobs=True, fit=True, reference_kl=True, deterministic=False)

    async def train(self, batch: Sequence[types.TrainingRow], hp: Hyperparameters) -> Metrics:
        """One update by the clipped policy-gradient objective (method section 8), a sum over tokens.

        ``hp.grad_clip`` is sent; SkyRL (0.3.0) does not know it and does not clip.

        Raises:
            PolicyError: The server failed, or did not answer in time.
            ConfigError: A row was sampled at another temperature than 1, or see ``check_hyperparameters``.
        """
        return await self._update(batch, hp, off_policy=True)

    async def fit(self, batch: Sequence[types.TrainingRow], hp: Hyperparameters) -> Metrics:
        """One update by cross-entropy, -sum_t A_t log p_t over the loss mask.

        Where the ratio and the importance weight are 1, the surrogate has the gradient of cross-entropy. So the rows
        are sent as if the present weights had sampled them. Raises ``PolicyError``.
        """
        plain = dataclasses.replace(hp, kl_coef=0.0, entropy_coef=0.0, role_steps=())
        return await self._update(batch, plain, off_policy=False)

    async def sync(self) -> TinkerPolicy:
        """Give the policy the trained weights; its version grows by one."""
        await self._push(self._policy.version + 1)
        return self._policy

    def save(self, path: Path) -> None:
        """Save weights and moments on the server, and write their address there into the folder ``path``."""
        saved = self._link.block(
            lambda: self._link.result(self._client.save_state_async(f"spadework-{uuid.uuid4().hex}"), "save_state")
        )
        state = {
            "format": _FORMAT,
            "state": saved.path,
            "model": self._model,
            "lora_rank": self._link.options.lora_rank,
            "version": self._policy.version,
        }
        path.mkdir(parents=True, exist_ok=True)
        aside = path / f".{_STATE}.part"
        aside.write_text(json.dumps(state, indent=1))
        aside.replace(path / _STATE)

    def load(self, path: Path) -> None:
        """Continue from what ``save`` wrote.

        Raises:
            RunError: The folder is missing, torn, or of another model; or the server no longer has the state.
        """
        try:
            state = json.loads((path / _STATE).read_text())
            known = state["format"], state["model"], state["lora_rank"]
            place, version = str(state["state"]), int(state["version"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RunError(f"The checkpoint {path} cannot be read ({error}). Resume from an earlier one.") from error
        if known != (_FORMAT, self._model, self._link.options.lora_rank):
            raise RunError(f"The checkpoint {path} was written for another model or adapter than the one configured.")

        async def restore() -> None:
            await self._link.result(self._client.load_state_with_optimizer_async(place), "load_state")
            await self._push(version)

        try:
            self._link.block(restore)
        except PolicyError as error:
            raise RunError(f"The checkpoint {path} lies on the server as {place}: {error.fault.message}") from error

    def export(self, path: Path) -> None:
        """Fetch the adapter (PEFT format) into the folder ``path``. Raises ``PolicyError``."""
        name = f"spadework-{uuid.uuid4().hex}"

        async def address() -> str:
            saved = await self._link.result(self._client.save_weights_for_sampler_async(name), "save_weights")
            run, _, checkpoint = saved.path.removeprefix("tinker://").partition("/")
            rest = self._link.service.create_rest_client()
            answer = await self._link.wait(rest.get_checkpoint_archive_url_async(run, checkpoint), "an archive")
            return str(answer.url)

        url = self._link.block(address)
        aside = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
        try:
            with (
                urllib.request.urlopen(url, timeout=self._link.options.deadline_seconds) as answer,
                tarfile.open(fileobj=answer, mode="r|*") as archive,
            ):
                archive.extractall(aside, filter="data")
            _name_targets(aside)
            aside.replace(path)
        except (OSError, ValueError, tarfile.TarError) as error:
            raise PolicyError("EXPORT", f"the adapter could not be fetched: {error}") from error
        finally:
            shutil.rmtree(aside, ignore_errors=True)

    async def _push(self, version: int) -> None:
        client = await self._link.wait(self._client.save_weights_and_get_sampling_client_async(), "save_weights")
        self._policy.sample_with(client, version)

    async def _update(self, batch: Sequence[types.TrainingRow], hp: Hyperparameters, *, off_policy: bool) -> Metrics:
        started = time.perf_counter()
        check_hyperparameters(hp)
        parts = [each.rows for each in plan_steps([row for row in batch if any(row.loss_mask)], hp)]
        rows = [row for part in parts for row in part]
        odd = next((row for row in rows if row.temperature != 1.0), None)
        if odd is not None and off_policy:
            raise ConfigError(
                f"{odd.source_id} was sampled at temperature {odd.temperature:g}, but the Tinker API trains at 1 only: "
                "set play.temperature and designer.temperature to 1"
            )
        if not rows:
            return {"rows": 0.0, "tokens": 0.0}
        metrics: Metrics = {}
        targets = iter(await self._targets(parts, hp, off_policy, metrics))
        steps = [list(itertools.islice(targets, len(part))) for part in parts]
        for _ in range(hp.epochs):
            for step in steps:
                await self._step(step, hp, metrics)
        tokens = sum(len(row.tokens) for row in rows)
        seconds = time.perf_counter() - started
        return {**metrics, "rows": float(len(rows)), "tokens": float(tokens), "tokens_per_second": tokens / seconds}

    async def _targets(
        self, parts: Sequence[Sequence[types.TrainingRow]], hp: Hyperparameters, off_policy: bool, metrics: Metrics
    ) -> list[_Targets]:
        """What trains, in the order of the optimiser steps, with the log-probabilities at the start of the update."""
        sdk = self._link.sdk
        rows = [row for part in parts for row in part]
        plain = [sdk.Datum(_prompt(sdk, row), {"target_tokens": list(row.tokens[1:])}) for row in rows]
        output = await self._link.result(self._client.forward_async(plain, "cross_entropy"), "a forward pass")
        olds = [np.asarray(out["logprobs"].data, dtype=float) for out in output.loss_fn_outputs]
        masks = [np.asarray(row.loss_mask[1:], dtype=bool) for row in rows]
        if [len(old) for old in olds] != [len(mask) for mask in masks]:
            raise PolicyError("UNUSABLE", "a forward pass gave other than one log-probability a token")
        gaps = [
            old - np.asarray(row.logprobs[1:]) if off_policy else np.zeros_like(old)
            for row, old in zip(rows, olds, strict=True)
        ]
        weights = [np.minimum(np.exp(gap), hp.importance_cap) for gap in gaps]
        advantages = [
            np.where(mask, weight * np.asarray(row.advantages[1:]), 0.0)
            for row, mask, weight in zip(rows, masks, weights, strict=True)
        ]
        trained = np.concatenate(masks)
        weight, gap = np.concatenate(weights)[trained], np.concatenate(gaps)[trained]
        metrics |= {
            "loss": -float(sum(part.sum() for part in advantages)),
            "token_loss": -float(np.concatenate(olds)[trained].mean()),
            "importance_mean": float(weight.mean()),
            "importance_max": float(weight.max()),
            "logprob_mismatch": float(np.abs(gap).mean()),
            "approx_kl": float((np.exp(gap) - gap - 1).mean()),
        }
        if hp.kl_coef:
            pulls = await self._pull_to_start(rows, olds, masks, metrics)
            # The KL term is a mean over the tokens of its own step.
            counts = [sum(sum(row.loss_mask[1:]) for row in part) for part in parts for _ in part]
            advantages = [
                own - hp.kl_coef / count * pull for own, count, pull in zip(advantages, counts, pulls, strict=True)
            ]
        return [_Targets(*parts) for parts in zip(rows, masks, olds, advantages, strict=True)]

    async def _pull_to_start(
        self,
        rows: Sequence[types.TrainingRow],
        olds: Sequence[Floats],
        masks: Sequence[NDArray[np.bool_]],
        metrics: Metrics,
    ) -> list[Floats]:
        """The gradient of exp(d) - d - 1 with d = start - current by the current log-probability: 1 - exp(d)."""
        if self._base is None:
            started = self._link.service.create_sampling_client_async(base_model=self._model)
            self._base = await self._link.wait(started, "a sampler of the start model")
        prompts = [self._link.sdk.ModelInput.from_ints(list(row.tokens)) for row in rows]
        asked = (self._link.wait(self._base.compute_logprobs_async(one), "log-probabilities") for one in prompts)
        starts = [
            np.asarray(given[1 - len(row.tokens) :], dtype=float)
            for row, given in zip(rows, await asyncio.gather(*asked), strict=True)
        ]
        gaps = [np.where(mask, start - old, 0.0) for mask, start, old in zip(masks, starts, olds, strict=True)]
        total = sum(float((np.exp(gap) - gap - 1).sum()) for gap in gaps)
        metrics["kl_to_start"] = total / sum(int(mask.sum()) for mask in masks)
        return [1.0 - np.exp(gap) for gap in gaps]

    async def _step(self, part: Sequence[_Targets], hp: Hyperparameters, metrics: Metrics) -> None:
        sdk, what = self._link.sdk, "a forward and backward pass"
        data = [_datum(sdk, targets, len(part), self._link.reduction) for targets in part]
        clips = dict(zip(_CLIPS, (1.0 - hp.clip_low, 1.0 + hp.clip_high), strict=True))
        await self._link.result(self._client.forward_backward_async(data, "ppo", clips), what)
        adam = sdk.AdamParams(
            learning_rate=hp.lr,
            beta1=hp.betas[0],
            beta2=hp.betas[1],
            eps=_EPS,
            weight_decay=hp.weight_decay,
            grad_clip_norm=hp.grad_clip,
        )
        answer = await self._link.result(self._client.optim_step_async(adam), "a step")
        for name, value in (answer.metrics or {}).items():
            if name.rpartition("/")[2] == "grad_norm":
                metrics["grad_norm"] = float(value)


def check_hyperparameters(hp: Hyperparameters) -> None:
    """Raises ``ConfigError`` for what the Tinker API has no call for, by the name of its setting."""
    if hp.role_steps:
        raise ConfigError("update.by_role: a Tinker server keeps one set of moments an adapter; set it to false")
    if hp.ratio != "token":
        raise ConfigError('update.ratio: the Tinker API clips the ratio of each token; set it to "token"')
    if hp.entropy_coef:
        raise ConfigError("update.entropy_coef: the losses of the Tinker API have no entropy term; set it to 0")


def load_tinker(name: str, *, run_seed: int, options: TinkerOptions) -> tuple[TinkerPolicy, TinkerTrainer]:
    """Make an adapter of the model ``name`` on a Tinker server, and share it between a policy and a trainer.

    Args:
        name: As the server calls it; the tokenizer is loaded by this name, a hub's or a folder's.
        run_seed: Seeds the adapter and every draw.
        options: See ``TinkerOptions``.

    Raises:
        ConfigError: See ``tinker.connect``; or there is no such tokenizer here, or no such adapter there.
    """
    link = connect(name, options)
    template = HFTemplate(_tokenizer(name))
    policy = TinkerPolicy(link, template, template.encode, run_seed)

    async def start() -> TinkerTrainer:
        made = link.service.create_lora_training_client_async(name, rank=options.lora_rank, seed=run_seed % 2**31)
        client = await link.wait(made, f"an adapter of rank {options.lora_rank}")
        trainer = TinkerTrainer(link, policy, client, name)
        await trainer._push(0)
        return trainer

    try:
        return policy, link.block(start)
    except PolicyError as error:
        raise ConfigError(f"model.lora_rank = {options.lora_rank}: {error.fault.message}") from error


def _name_targets(folder: Path) -> None:
    """Name the adapter's modules in its config: SkyRL leaves them out, and PEFT would then load a part of them."""
    from safetensors import safe_open

    place = folder / "adapter_config.json"
    config = json.loads(place.read_text())
    if not config.get("target_modules"):
        with safe_open(folder / "adapter_model.safetensors", "np") as weights:
            names = {name.partition(".lora_")[0].rpartition(".")[2] for name in weights.keys()}  # noqa: SIM118
        place.write_text(json.dumps(config | {"target_modules": sorted(names)}, indent=1))


def _tokenizer(name: str) -> Any:
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise ConfigError(f"model.name: no tokenizer of {name!r} could be loaded here: {error}") from error


def _prompt(sdk: Any, row: types.TrainingRow) -> Any:
    return sdk.ModelInput.from_ints(list(row.tokens[:-1]))


def _datum(sdk: Any, targets: _Targets, rows: int, reduction: str) -> Any:
    """One row for the ``ppo`` loss, whose sum over the batch's tokens is then our objective.

    SkyRL's JAX backend divides a row's loss by the sum of its weights, and the batch's by its number of rows: with the
    loss mask for weights, the advantages are multiplied by both.
    """
    inputs: dict[str, Any] = {"target_tokens": list(targets.row.tokens[1:]), "logprobs": targets.old.tolist()}
    advantages = targets.advantages
    if reduction == "sequence_mean":
        inputs["weights"] = targets.mask.astype(float).tolist()
        advantages = advantages * (int(targets.mask.sum()) * rows)
    return sdk.Datum(_prompt(sdk, targets.row), inputs | {"advantages": advantages.tolist()})
