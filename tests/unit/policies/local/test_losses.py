from __future__ import annotations

import copy
import dataclasses
import math
import random

import pytest
import torch

from spadework.policies.base import Hyperparameters
from spadework.policies.local import losses
from spadework.policies.local.losses import kl_estimate, surrogate_loss, target_logprobs
from spadework.policies.local.models import load_model
from spadework.policies.local.policy import LocalOptions, load_local
from spadework.policies.local.prefix_packing import build_packs
from spadework.types import TrainingRow

HP = Hyperparameters(lr=0.0, grad_clip=1e9)


def row(tokens: list[int], prompt: int, rng: random.Random, group: str = "g") -> TrainingRow:
    """A row whose tokens after the prompt are trained, but for some holes (an observation, the end of a cut turn)."""
    mask = tuple(index >= prompt and index % 7 != 3 for index in range(len(tokens)))
    return TrainingRow(
        tokens=tuple(tokens),
        loss_mask=mask,
        logprobs=tuple(-4.5 - rng.random() * 2 if m else 0.0 for m in mask),
        advantages=tuple(rng.gauss(0, 1) if m else 0.0 for m in mask),
        role="agent",
        group_id=group,
        source_id="s",
        policy_version=0,
        temperature=rng.choice([0.7, 1.0]),
    )


def grouped_rows(seed: int = 0) -> list[TrainingRow]:
    """Three groups of rows with common prompts, of which some replies are equal at first; and a lone row."""
    rng = random.Random(seed)
    rows = []
    system = [rng.randrange(256) for _ in range(20)]
    for group in range(3):
        prompt = system + [rng.randrange(256) for _ in range(10 + 5 * group)]
        start = [rng.randrange(256) for _ in range(4)]
        for index in range(5):
            reply = (start if index % 2 else []) + [rng.randrange(256) for _ in range(rng.randint(1, 30))]
            rows.append(row(prompt + reply, len(prompt), rng, str(group)))
    lone = [rng.randrange(256) for _ in range(150)]
    return [*rows, row(lone, 60, rng), rows[0]]


def reference_loss(
    model: torch.nn.Module, rows: list[TrainingRow], hp: Hyperparameters, old_model: torch.nn.Module
) -> torch.Tensor:
    """Method section 8 written out token by token on plain forward passes of single rows."""
    total = torch.zeros(())
    for r in rows:
        ids = torch.tensor([r.tokens])
        new = torch.log_softmax(model(ids).logits[0] / r.temperature, -1)
        with torch.no_grad():
            old = torch.log_softmax(old_model(ids).logits[0] / r.temperature, -1)
        for t in range(1, len(r.tokens)):
            if not r.loss_mask[t]:
                continue
            token, advantage = r.tokens[t], r.advantages[t]
            ratio = (new[t - 1, token] - old[t - 1, token]).exp()
            weight = min(math.exp(old[t - 1, token].item() - r.logprobs[t]), hp.importance_cap)
            bounded = ratio.clamp(1 - hp.clip_low, 1 + hp.clip_high)
            total = total - weight * torch.min(ratio * advantage, bounded * advantage)
    return total


@pytest.mark.parametrize("budget", [64, 200, 4096])
async def test_the_gradient_equals_a_hand_written_reference(budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(losses, "_CHUNK", 16)
    rows = grouped_rows()
    options = LocalOptions(threads=1, dtype="float32", micro_batch_tokens=budget)
    _, trainer = load_local("tiny-random", run_seed=2, options=options)
    found: dict[str, torch.Tensor] = {}
    step = trainer._optimizer.step
    trainer._optimizer.step = lambda: found.update({n: p.grad.clone() for n, p in trainer._trained.items()}) or step()  # type: ignore[method-assign,func-returns-value]
    metrics = await trainer.train(rows, HP)
    model = load_model("tiny-random", seed=2).model
    loss = reference_loss(model, rows, HP, model)
    loss.backward()  # type: ignore[no-untyped-call]
    assert metrics["loss"] == pytest.approx(loss.item(), rel=1e-5)
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(found[name], parameter.grad, rtol=1e-3, atol=1e-4, msg=name)
    assert metrics["packed_tokens"] <= metrics["tokens"]


async def test_several_steps_keep_the_weights_at_the_start_as_old() -> None:
    """Two epochs: the second step's ratio is to the weights before the first."""
    rows = grouped_rows(1)
    hp = dataclasses.replace(HP, lr=2e-3, epochs=2, weight_decay=0.0)
    _, trainer = load_local("tiny-random", run_seed=2, options=LocalOptions(threads=1, dtype="float32"))
    metrics = await trainer.train(rows, hp)
    start = load_model("tiny-random", seed=2).model
    model = copy.deepcopy(start)
    optimizer = torch.optim.AdamW(model.parameters(), lr=hp.lr, betas=hp.betas, weight_decay=0.0)
    total = 0.0
    for _ in range(2):
        optimizer.zero_grad()
        loss = reference_loss(model, rows, hp, start)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        total += loss.item()
    assert metrics["loss"] == pytest.approx(total, rel=1e-4)
    assert metrics["clip_share"] > 0
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(trainer._trained[name].detach(), parameter.detach(), rtol=1e-2, atol=3e-4, msg=name)


@pytest.mark.parametrize("lora_rank", [0, 4])
async def test_the_kl_is_to_the_start_model(lora_rank: int) -> None:
    options = LocalOptions(threads=1, dtype="float32", lora_rank=lora_rank)
    _, trainer = load_local("tiny-random", run_seed=2, options=options)
    hp = dataclasses.replace(HP, lr=1e-2, kl_coef=1.0)
    rows = grouped_rows()
    first = await trainer.train(rows, hp)
    assert first["kl_to_start"] == pytest.approx(0.0, abs=1e-5)
    second = await trainer.train(rows, hp)
    assert second["kl_to_start"] > 1e-4
    flat = [dataclasses.replace(r, advantages=(0.0,) * len(r.tokens)) for r in rows]
    trainer.reset_optimizer()
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
        logprobs, torch.zeros(5), torch.tensor([0.0, 0, 0, 0, -3.0]), torch.tensor([1.0, 1, 1, -1, -1]), hp
    )
    assert parts.loss.item() == pytest.approx(-(1 + 1.28 + 0.5 - 1.5 - 2 * 0.8))
    assert parts.clipped.tolist() == [False, True, False, False, True]
    assert parts.weight.tolist() == [1, 1, 1, 1, 2]


def test_the_kl_estimate_is_never_negative() -> None:
    one, other = torch.randn(100), torch.randn(100)
    assert (kl_estimate(one, other) >= 0).all()
    assert kl_estimate(one, one).abs().max() == 0


def test_chunks_do_not_change_logprobs_or_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    head = torch.nn.Linear(8, 50, bias=False)
    hidden, targets = torch.randn(37, 8, requires_grad=True), torch.randint(50, (37,))
    whole, entropy = target_logprobs(hidden, head, targets, torch.full((len(targets),), 0.7))
    whole.sum().backward()
    expected, hidden.grad = hidden.grad, None
    plain = torch.log_softmax(head(hidden) / 0.7, -1).gather(1, targets[:, None])[:, 0]
    torch.testing.assert_close(whole, plain)
    (auto,) = torch.autograd.grad(plain.sum(), head.weight)
    torch.testing.assert_close(head.weight.grad, auto)
    monkeypatch.setattr(losses, "_CHUNK", 5)
    parts, entropies = target_logprobs(hidden, head, targets, torch.full((len(targets),), 0.7))
    parts.sum().backward()
    torch.testing.assert_close(parts, whole)
    torch.testing.assert_close(entropies, entropy)
    torch.testing.assert_close(hidden.grad, expected)


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
