"""What every ``Trainer`` promises. A new engine joins by a factory in ``TRAINERS``.

A trainer that learns is checked through what everyone can see of it: the policy's log-probabilities after an update.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tinker_server import served

from spadework.errors import ConfigError
from spadework.policies.base import Hyperparameters, Policy, RoleStep, SamplingParams, Trainer
from spadework.types import TrainingRow

HP = Hyperparameters(lr=3e-3, grad_clip=1e9, weight_decay=0.0)


def scripted() -> tuple[Policy, Trainer]:
    from spadework.testing.scripted import ScriptedPolicy, ScriptedTrainer

    policy = ScriptedPolicy(lambda messages, rng, version: f"{rng.random()}", run_seed=3)
    return policy, ScriptedTrainer(policy)


def _local(lora_rank: int) -> tuple[Policy, Trainer]:
    pytest.importorskip("torch")
    from spadework.policies.local.policy import LocalOptions, load_local

    options = LocalOptions(slots=8, threads=1, dtype="float32", max_length=512, lora_rank=lora_rank)
    return load_local("tiny-random", run_seed=3, options=options)


def tinker() -> tuple[Policy, Trainer]:
    url, model = served()
    from spadework.policies.tinker.policy import TinkerOptions
    from spadework.policies.tinker.trainer import load_tinker

    return load_tinker(
        model, run_seed=3, options=TinkerOptions(url, lora_rank=4, deadline_seconds=1_800, max_length=512)
    )


def served_by_vllm() -> tuple[Policy, Trainer]:
    pytest.importorskip("torch")
    from serving import serve

    from spadework.policies.local.options import LocalOptions
    from spadework.policies.server.served import load_served

    server, settings = serve("vllm")
    options = LocalOptions(threads=1, dtype="float32", max_length=512)
    return load_served("tiny-random", settings, server.folder, run_seed=3, options=options)


TRAINERS: dict[str, Callable[[], tuple[Policy, Trainer]]] = {
    "scripted": scripted,
    "local": lambda: _local(0),
    "local-lora": lambda: _local(4),
    "local-served": served_by_vllm,
    "tinker": tinker,
}
TINKER = pytest.param("tinker", marks=pytest.mark.slow)
LEARNING = ["local", "local-lora", "local-served", TINKER]


async def batch_of(policy: Policy, rows: int = 4) -> list[TrainingRow]:
    """Replies to two prompts, good and bad in turn."""
    batch = []
    for index in range(rows):
        chat = policy.chat([{"role": "user", "content": f"Prompt {index // 2}"}])
        await chat.reply(SamplingParams(8, temperature=1.0), (7, index))
        (segment,) = chat.segments
        advantage = 0.1 if index % 2 else -0.1
        advantages = tuple(advantage if sampled else 0.0 for sampled in segment.loss_mask)
        batch.append(
            TrainingRow(
                tokens=segment.tokens,
                loss_mask=segment.loss_mask,
                logprobs=segment.logprobs,
                advantages=advantages,
                role="agent",
                group_id=str(index // 2),
                source_id=str(index),
                policy_version=segment.policy_version,
            )
        )
    return batch


async def greedy(policy: Policy) -> tuple[tuple[int, ...], tuple[float, ...]]:
    reply = await policy.chat([{"role": "user", "content": "Prompt 0"}]).reply(
        SamplingParams(8, temperature=1.0), (7, 0)
    )
    return reply.tokens, reply.logprobs


def plain_model(name: str, trainer: Any, folder: Path) -> Any:
    """The trainer's model with its adapter as plain modules, which it started from or stands at."""
    from spadework.policies.local.models import load_model, with_adapter

    model = load_model("tiny-random", seed=3).model
    if name == "local-lora":
        return with_adapter(model, 4, 3)
    if name == "tinker":
        from peft import PeftModel

        trainer.export(folder / "adapter")
        return PeftModel.from_pretrained(model, folder / "adapter", is_trainable=True)
    return model


@pytest.mark.parametrize("name", ["scripted", *LEARNING])
async def test_a_cycle(name: str, tmp_path: Path) -> None:
    policy, trainer = TRAINERS[name]()
    assert isinstance(trainer, Trainer)
    metrics = await trainer.train(await batch_of(policy), HP)
    assert metrics["tokens"] > 0
    assert policy.version == 0
    assert (await trainer.sync()).version == 1
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    trainer.save(folder)
    other, reader = TRAINERS[name]()
    reader.load(folder)
    assert other.version == 1
    await policy.close()
    await other.close()


@pytest.mark.parametrize("name", LEARNING)
async def test_save_load_continue_equals_unbroken(name: str, tmp_path: Path) -> None:
    if name == "local-served":
        pytest.skip("a server that batches as it likes is sent no seed, so it samples other rows each time")

    async def updates(pair: Any, count: int) -> dict[str, float]:
        policy, trainer = pair
        for _ in range(count):
            metrics = await trainer.train(await batch_of(policy), HP)
            await trainer.sync()
        return metrics

    unbroken = TRAINERS[name]()
    expected = await updates(unbroken, 4)
    broken = TRAINERS[name]()
    await updates(broken, 2)
    broken[1].save(tmp_path / "checkpoint")
    resumed = TRAINERS[name]()
    resumed[1].load(tmp_path / "checkpoint")
    found = await updates(resumed, 2)
    expected.pop("tokens_per_second"), found.pop("tokens_per_second")
    assert found == expected
    assert await greedy(resumed[0]) == await greedy(unbroken[0])
    assert resumed[0].version == unbroken[0].version == 4


BY_ROLE = dataclasses.replace(HP, role_steps=(RoleStep("agent", 3e-3), RoleStep("designer", 1e-3)))


async def train_by_role(pair: tuple[Policy, Trainer], count: int) -> None:
    """Updates by rows of both roles, whose second half is the designer's."""
    policy, trainer = pair
    for _ in range(count):
        batch = await batch_of(policy)
        batch[2:] = [dataclasses.replace(row, role="designer") for row in batch[2:]]
        await trainer.train(batch, BY_ROLE)
        await trainer.sync()


@pytest.mark.parametrize("name", ["local", "local-lora"])
async def test_steps_by_role_go_on_from_a_checkpoint(name: str, tmp_path: Path) -> None:
    unbroken, broken, resumed = (TRAINERS[name]() for _ in range(3))
    await train_by_role(unbroken, 4)
    await train_by_role(broken, 2)
    broken[1].save(tmp_path / "checkpoint")
    resumed[1].load(tmp_path / "checkpoint")
    await train_by_role(resumed, 2)
    assert await greedy(resumed[0]) == await greedy(unbroken[0])


@pytest.mark.parametrize("name", [TINKER])
async def test_a_trainer_with_one_set_of_moments_refuses_steps_by_role(name: str) -> None:
    with pytest.raises(ConfigError, match=r"update\.by_role"):
        await train_by_role(TRAINERS[name](), 1)


@pytest.mark.parametrize("name", LEARNING)
async def test_it_raises_what_was_good_and_lowers_what_was_bad(name: str) -> None:
    policy, trainer = TRAINERS[name]()
    batch = await batch_of(policy)
    before = [await trainer.fit(batch[i : i + 1], dataclasses.replace(HP, lr=0.0)) for i in range(4)]
    for _ in range(5):
        await trainer.train(batch, HP)
    after = [await trainer.fit(batch[i : i + 1], dataclasses.replace(HP, lr=0.0)) for i in range(4)]
    changes = [b["token_loss"] - a["token_loss"] for a, b in zip(before, after, strict=True)]
    assert changes[1] < 0 < changes[0]
    assert changes[3] < 0 < changes[2]


@pytest.mark.parametrize("name", LEARNING)
async def test_a_duplicated_datum_doubles_the_gradient(name: str) -> None:
    policy, trainer = TRAINERS[name]()
    batch = await batch_of(policy)
    still = dataclasses.replace(HP, lr=0.0)
    once = await trainer.train(batch, still)
    twice = await trainer.train([*batch, *batch], still)
    assert twice["grad_norm"] == pytest.approx(2 * once["grad_norm"], rel=1e-4)
    assert twice["loss"] == pytest.approx(2 * once["loss"], rel=1e-4)


@pytest.mark.parametrize("name", LEARNING)
async def test_the_gradient_is_that_of_a_plain_pass_over_each_row(name: str, tmp_path: Path) -> None:
    from reference import gradient_norm

    policy, trainer = TRAINERS[name]()
    model = plain_model(name, trainer, tmp_path)
    rows = await batch_of(policy)
    rows = [
        dataclasses.replace(
            row,
            tokens=row.tokens[: -2 * k or None],
            loss_mask=tuple(m and (i + k) % 3 > 0 for i, m in enumerate(row.loss_mask))[: -2 * k or None],
            logprobs=tuple(x - 0.3 * k if m else 0.0 for x, m in zip(row.logprobs, row.loss_mask, strict=True))[
                : -2 * k or None
            ],
            advantages=tuple(a * (k + 1) for a in row.advantages)[: -2 * k or None],
        )
        for k, row in enumerate(rows)
    ]
    found = await trainer.train(rows, dataclasses.replace(HP, lr=0.0))
    assert found["grad_norm"] == pytest.approx(gradient_norm(model, rows, HP), rel=2e-3)


@pytest.mark.parametrize("name", [TINKER])
async def test_the_pull_to_the_start_is_that_of_a_plain_pass(name: str, tmp_path: Path) -> None:
    from reference import gradient_norm

    policy, trainer = TRAINERS[name]()
    rows = await batch_of(policy)
    await trainer.train(rows, dataclasses.replace(HP, lr=3e-2))
    model = plain_model(name, trainer, tmp_path)
    pulled = dataclasses.replace(HP, lr=0.0, kl_coef=0.5)
    found = await trainer.train(rows, pulled)
    assert found["kl_to_start"] > 0
    expected = gradient_norm(model, rows, pulled, plain_model("local", None, tmp_path))
    assert found["grad_norm"] == pytest.approx(expected, rel=5e-3)


@pytest.mark.parametrize("name", LEARNING)
async def test_tokens_outside_the_mask_do_not_train(name: str) -> None:
    policy, trainer = TRAINERS[name]()
    row = (await batch_of(policy))[1]
    still = dataclasses.replace(HP, lr=0.0)
    whole = await trainer.train([row], still)
    half = tuple(sampled and i % 2 == 0 for i, sampled in enumerate(row.loss_mask))
    masked = await trainer.train([dataclasses.replace(row, loss_mask=half)], still)
    zeroed = dataclasses.replace(
        row, advantages=tuple(a if m else 0.0 for a, m in zip(row.advantages, half, strict=True))
    )
    assert masked["grad_norm"] != pytest.approx(whole["grad_norm"], rel=1e-3)
    assert masked["grad_norm"] == pytest.approx((await trainer.train([zeroed], still))["grad_norm"], rel=1e-4)


@pytest.mark.parametrize("name", LEARNING)
async def test_the_samplers_logprobs_weigh_each_token(name: str) -> None:
    policy, trainer = TRAINERS[name]()
    row = (await batch_of(policy))[1]
    still = dataclasses.replace(HP, lr=0.0)
    on_policy = await trainer.train([row], still)
    assert on_policy["logprob_mismatch"] < 1e-4
    likelier = dataclasses.replace(
        row, logprobs=tuple(x + 0.7 if m else 0.0 for x, m in zip(row.logprobs, row.loss_mask, strict=True))
    )
    down = await trainer.train([likelier], still)
    assert down["grad_norm"] == pytest.approx(on_policy["grad_norm"] * 2.718281828**-0.7, rel=1e-3)
    rarer = dataclasses.replace(
        row, logprobs=tuple(x - 5.0 if m else 0.0 for x, m in zip(row.logprobs, row.loss_mask, strict=True))
    )
    capped = await trainer.train([rarer], still)
    assert capped["importance_max"] == HP.importance_cap
    assert capped["grad_norm"] == pytest.approx(on_policy["grad_norm"] * HP.importance_cap, rel=1e-3)
