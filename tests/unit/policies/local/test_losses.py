from __future__ import annotations

import dataclasses
import math
import random
from typing import Any, Literal

import pytest
import torch
from recorded_steps import HP, check_gradient, grouped_rows, model_at, record_steps, row, tiny

from spadework.policies.base import Hyperparameters
from spadework.policies.local.models import load_model
from spadework.policies.local.policy import LocalOptions, load_local
from spadework.policies.local.training import losses
from spadework.policies.local.training.losses import kl_estimate, surrogate_loss, target_logprobs
from spadework.policies.local.training.prefix_packing import build_packs


@pytest.mark.parametrize("budget", [64, 200, 4096])
async def test_the_gradient_equals_a_hand_written_reference(budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(losses, "_CHUNK", 16)
    rows = grouped_rows()
    trainer = tiny(budget)
    steps = record_steps(trainer, monkeypatch)
    metrics = await trainer.train(rows, HP)
    (step,) = steps
    assert metrics["loss"] == pytest.approx(check_gradient(step, rows, HP, model_at(step.weights)), rel=1e-5)
    assert metrics["packed_tokens"] <= metrics["tokens"]


async def test_several_steps_keep_the_weights_at_the_start_as_old(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two epochs: the ratio of the second step is to the weights before the first."""
    rows = grouped_rows(1)
    trainer = tiny()
    steps = record_steps(trainer, monkeypatch)
    hp = dataclasses.replace(HP, lr=2e-3, epochs=2, weight_decay=0.0)
    metrics = await trainer.train(rows, hp)
    first, second = steps
    old = model_at(first.weights)
    expected = check_gradient(first, rows, hp, old) + check_gradient(second, rows, hp, old)
    assert metrics["loss"] == pytest.approx(expected, rel=1e-4)
    assert metrics["clip_share"] > 0


@pytest.mark.parametrize(
    "settings",
    [
        {"ratio": "sequence", "clip_low": 0.02, "clip_high": 0.03},
        {"kl_coef": 500.0},
        {"entropy_coef": 200.0},
        {"kl_coef": 500.0, "entropy_coef": 200.0, "ratio": "sequence"},
    ],
    ids=str,
)
@pytest.mark.parametrize("budget", [64, 4096])
async def test_each_term_has_the_gradient_of_its_formula(
    settings: dict[str, Any], budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a first step the weights differ from the start model and from those of the sampler, so all terms count.

    The coefficients make the means over tokens about as large as the sum of the surrogate, so that a term which is
    divided by another number of tokens shows.
    """
    monkeypatch.setattr(losses, "_CHUNK", 16)
    rows = grouped_rows(1)
    trainer = tiny(budget)
    steps = record_steps(trainer, monkeypatch)
    hp = dataclasses.replace(HP, lr=2e-3, epochs=2, weight_decay=0.0, **settings)
    metrics = await trainer.train(rows, hp)
    old = model_at(steps[0].weights)
    for step in steps:
        check_gradient(step, rows, hp, old)
    plain = dataclasses.replace(hp, ratio="token", kl_coef=0.0, entropy_coef=0.0)
    with pytest.raises(AssertionError):
        check_gradient(steps[1], rows, plain, old)
    assert 0 < metrics["clip_share"] < 1


@pytest.mark.parametrize("kl_rows", ["trained", "all"])
async def test_the_kl_sees_the_rows_that_it_is_told_to(
    kl_rows: Literal["trained", "all"], monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = tiny()
    rows = grouped_rows(1)
    flat = [dataclasses.replace(r, advantages=(0.0,) * len(r.tokens)) for r in rows[:4]]
    batch = flat + rows[4:]
    await trainer.train(rows, dataclasses.replace(HP, lr=2e-3))
    steps = record_steps(trainer, monkeypatch)
    hp = dataclasses.replace(HP, kl_coef=500.0, kl_rows=kl_rows)
    metrics = await trainer.train(batch, hp)
    seen = batch if kl_rows == "all" else rows[4:]
    check_gradient(steps[0], seen, hp, model_at(steps[0].weights))
    assert metrics["rows"] == len(seen)


@pytest.mark.parametrize("lora_rank", [0, 4])
async def test_the_kl_is_to_the_start_model(lora_rank: int) -> None:
    options = LocalOptions(threads=1, dtype="float32", lora_rank=lora_rank)
    _, trainer = load_local("tiny-random", run_seed=2, options=options)
    hp = dataclasses.replace(HP, lr=1e-2, kl_coef=1.0, kl_rows="all")
    rows = grouped_rows()
    first = await trainer.train(rows, hp)
    assert first["kl_to_start"] == pytest.approx(0.0, abs=1e-5)
    second = await trainer.train(rows, hp)
    assert second["kl_to_start"] > 1e-4
    flat = [dataclasses.replace(r, advantages=(0.0,) * len(r.tokens)) for r in rows]
    trainer._optimizers.reset()
    pulled = [(await trainer.train(flat, dataclasses.replace(hp, lr=2e-3)))["kl_to_start"] for _ in range(12)]
    assert pulled[-1] < pulled[0]


async def test_rows_without_advantage_cost_nothing() -> None:
    _, trainer = load_local("tiny-random", run_seed=2, options=LocalOptions(threads=1, dtype="float32"))
    rows = grouped_rows()
    flat = dataclasses.replace(rows[0], advantages=(0.0,) * len(rows[0].tokens))
    assert (await trainer.train([flat], HP))["tokens"] == 0.0
    assert (await trainer.train([], HP))["loss"] == 0.0


async def test_fit_is_the_weighted_cross_entropy() -> None:
    rows = grouped_rows()
    _, trainer = load_local("tiny-random", run_seed=2, options=LocalOptions(threads=1, dtype="float32"))
    metrics = await trainer.fit(rows, HP)
    model = load_model("tiny-random", seed=2).model
    expected = 0.0
    with torch.no_grad():
        for r in rows:
            table = torch.log_softmax(model(torch.tensor([r.tokens])).logits[0] / r.temperature, -1)
            expected -= sum(
                r.advantages[t] * table[t - 1, r.tokens[t]].item() for t in range(1, len(r.tokens)) if r.loss_mask[t]
            )
    assert metrics["loss"] == pytest.approx(expected, rel=1e-4)


def test_surrogate_by_hand() -> None:
    hp = Hyperparameters()
    logprobs = torch.tensor([0.0, math.log(1.5), math.log(0.5), math.log(1.5), math.log(0.5)])
    parts = surrogate_loss(
        logprobs,
        torch.zeros(5),
        torch.tensor([0.0, 0, 0, 0, -3.0]),
        torch.tensor([1.0, 1, 1, -1, -1]),
        torch.tensor([0, 0, 1, 2, 2]),
        hp,
    )
    assert parts.loss.item() == pytest.approx(-(1 + 1.28 + 0.5 - 1.5 - 2 * 0.8))
    assert parts.clipped.tolist() == [False, True, False, False, True]
    assert parts.weight.tolist() == [1, 1, 1, 1, 2]


def test_the_sequence_ratio_by_hand() -> None:
    """Two rows of two tokens: ratios sqrt(1.5 x 0.5) and sqrt(1.5 x 1.5), the second of which is clipped."""
    hp = Hyperparameters(ratio="sequence")
    logprobs = torch.tensor([math.log(1.5), math.log(0.5), math.log(1.5), math.log(1.5)], requires_grad=True)
    parts = surrogate_loss(
        logprobs,
        torch.zeros(4),
        torch.tensor([-1.0, 1.0, 0.0, -0.5]),
        torch.tensor([1.0, 3.0, 1.0, 1.0]),
        torch.tensor([0, 0, 1, 1]),
        hp,
    )
    ratio, weight = math.sqrt(0.75), math.exp(0.25)
    assert parts.loss.item() == pytest.approx(-(ratio * (1 + 3) + weight * 1.28 * (1 + 1)))
    assert parts.clipped.tolist() == [False, False, True, True]
    assert parts.weight.tolist() == pytest.approx([1, 1, weight, weight])
    parts.loss.backward()  # type: ignore[no-untyped-call]
    assert logprobs.grad is not None
    assert logprobs.grad.tolist() == pytest.approx([-ratio * 2, -ratio * 2, 0, 0])


def test_the_kl_estimate_is_never_negative() -> None:
    one, other = torch.randn(100), torch.randn(100)
    assert (kl_estimate(one, other) >= 0).all()
    assert kl_estimate(one, one).abs().max() == 0


def test_chunks_do_not_change_logprobs_entropies_or_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    head = torch.nn.Linear(8, 50, bias=False)
    hidden, targets = torch.randn(37, 8, requires_grad=True), torch.randint(50, (37,))
    temperatures = torch.linspace(0.5, 1.5, 37)
    table = torch.log_softmax(head(hidden) / temperatures[:, None], -1)
    plain, plain_entropy = table.gather(1, targets[:, None])[:, 0], -(table.exp() * table).sum(-1)
    weights = torch.randn(2, 37)
    cases = {"logprobs": (1.0, 0.0), "entropies": (0.0, 1.0), "both": (1.0, 1.0)}
    for name, (by_logprobs, by_entropy) in cases.items():
        for chunk in (5, 512):
            monkeypatch.setattr(losses, "_CHUNK", chunk)
            found, entropy = target_logprobs(hidden, head, targets, temperatures)
            torch.testing.assert_close(found, plain)
            torch.testing.assert_close(entropy, plain_entropy)
            terms = [(by_logprobs, found, plain, weights[0]), (by_entropy, entropy, plain_entropy, weights[1])]
            ours = torch.stack([(own * weight).sum() for used, own, _, weight in terms if used]).sum()
            theirs = torch.stack([(own * weight).sum() for used, _, own, weight in terms if used]).sum()
            gradients = torch.autograd.grad(ours, (hidden, head.weight))
            expected = torch.autograd.grad(theirs, (hidden, head.weight), retain_graph=True)
            for one, other in zip(gradients, expected, strict=True):
                torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5, msg=name)


def test_packs_hold_each_prefix_once() -> None:
    rng = random.Random(0)
    prompt = list(range(50))
    rows = [row([*prompt, 100 + i, *range(5)], 50, rng) for i in range(8)]
    (pack,) = build_packs(rows, 4096)
    assert len(pack.tokens) == 50 + 8 * 5
    assert len(pack.targets) == sum(sum(r.loss_mask) for r in rows)
    assert max(pack.depths) == 54
    assert pack.ends[0] == len(pack.tokens)
    assert len(list(build_packs(rows, 60))) == 4


def test_packs_keep_which_row_a_token_belongs_to() -> None:
    rows = grouped_rows()
    for pack in build_packs(rows, 100):
        assert pack.rows == sorted(pack.rows)
        assert set(pack.rows) == set(range(pack.rows[-1] + 1))
    lengths = sorted(pack.rows.count(number) for pack in build_packs(rows, 100) for number in set(pack.rows))
    assert lengths == sorted(sum(r.loss_mask[1:]) for r in rows)
