"""Optimiser steps by role: each role's rows move the weights as if the other's were not there."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from recorded_steps import HP, check_gradient, grouped_rows, model_at, record_steps, tiny

from spadework.policies.base import RoleStep
from spadework.policies.hyperparameters import ALL_ROLES
from spadework.policies.local.training.trainer import LocalTrainer
from spadework.types import TrainingRow

AGENT, DESIGNER = RoleStep("agent", 1e-3), RoleStep("designer", 2e-3, kl_coef=500.0)
BY_ROLE = dataclasses.replace(HP, weight_decay=0.1, role_steps=(AGENT, DESIGNER))


def mixed_rows() -> list[TrainingRow]:
    """Rows of both roles; the designer's gradient is a hundred times the agent's."""
    rows = grouped_rows(1)
    for index in range(0, len(rows), 3):
        loud = tuple(100 * advantage for advantage in rows[index].advantages)
        rows[index] = dataclasses.replace(rows[index], role="designer", advantages=loud)
    return rows


def of_role(rows: list[TrainingRow], role: str) -> list[TrainingRow]:
    return [row for row in rows if row.role == role]


def weights_of(trainer: LocalTrainer) -> dict[str, torch.Tensor]:
    return {name: p.detach().clone() for name, p in trainer._trained.items()}


def equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(one[name], other[name]) for name in one)


async def test_each_step_has_the_gradient_of_its_own_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second role's ratio is to the weights at the start of the update, as with mini-batches."""
    rows, trainer = mixed_rows(), tiny()
    steps = record_steps(trainer, monkeypatch)
    metrics = await trainer.train(rows, dataclasses.replace(BY_ROLE, minibatches=2))
    assert [step.role for step in steps] == ["agent", "agent", "designer", "designer"]
    old = model_at(steps[0].weights)
    for index, step in enumerate(steps):
        own = of_role(rows, step.role)[index % 2 :: 2]
        kl_coef = DESIGNER.kl_coef if step.role == "designer" else 0.0
        check_gradient(step, own, dataclasses.replace(HP, kl_coef=kl_coef), old)
    assert metrics["grad_norm"] == metrics["grad_norm_designer"] > metrics["grad_norm_agent"] > 0
    assert metrics["rows"] == len(rows)


async def test_the_agents_moments_are_those_of_a_run_without_a_designer() -> None:
    """With one Adam over both roles, the loud designer would make the agent's step small."""
    rows, together, alone = mixed_rows(), tiny(), tiny()
    still = dataclasses.replace(BY_ROLE, role_steps=(AGENT, dataclasses.replace(DESIGNER, lr=0.0, kl_coef=0.0)))
    for _ in range(3):
        await together.train(rows, dataclasses.replace(still, weight_decay=0.0))
        plain = dataclasses.replace(HP, lr=AGENT.lr, weight_decay=0.0)
        await alone.train(of_role(rows, "agent"), plain)
    assert equal(weights_of(together), weights_of(alone))
    shared = tiny()
    for _ in range(3):
        await shared.train(rows, plain)
    assert not equal(weights_of(shared), weights_of(alone))


async def test_each_role_is_clipped_by_itself() -> None:
    """Adam divides by the gradient's size, so the clipped gradient is read from the first moments."""
    rows, trainer = mixed_rows(), tiny()
    await trainer.train(rows, dataclasses.replace(BY_ROLE, grad_clip=0.5))
    for moments in trainer._optimizers.moments().values():
        squares = [state["exp_avg"].pow(2).sum() for state in moments.values()]
        assert float(torch.stack(squares).sum().sqrt()) == pytest.approx(0.5 * (1 - HP.betas[0]), rel=1e-4)


async def test_a_resumed_run_equals_an_unbroken_one(tmp_path: Path) -> None:
    rows, unbroken, broken, resumed = mixed_rows(), tiny(), tiny(), tiny()
    for _ in range(4):
        expected = await unbroken.train(rows, BY_ROLE)
    for _ in range(2):
        await broken.train(rows, BY_ROLE)
    broken.save(tmp_path / "checkpoint")
    resumed.load(tmp_path / "checkpoint")
    for _ in range(2):
        found = await resumed.train(rows, BY_ROLE)
    expected.pop("tokens_per_second"), found.pop("tokens_per_second")
    assert found == expected
    unbroken.save(tmp_path / "one")
    resumed.save(tmp_path / "other")
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert "optimizer-agent.safetensors" in names and "optimizer-designer.safetensors" in names
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes(), name


async def test_a_checkpoint_of_format_1_goes_on(tmp_path: Path) -> None:
    """Version 0.1 wrote one set of moments and did not list it."""
    rows, old, trainer = mixed_rows(), tiny(), tiny()
    hp = dataclasses.replace(HP, lr=1e-3)
    await old.train(rows, hp)
    old.save(tmp_path / "old")
    index = json.loads((tmp_path / "old" / "trainer.json").read_text())
    assert index.pop("moments") == {ALL_ROLES: "optimizer.safetensors"}
    (tmp_path / "old" / "trainer.json").write_text(json.dumps(index | {"format": 1}))
    trainer.load(tmp_path / "old")
    await old.train(rows, hp)
    await trainer.train(rows, hp)
    assert equal(weights_of(old), weights_of(trainer))


async def test_moments_that_no_step_uses_are_let_go(tmp_path: Path) -> None:
    """A run that turns ``by_role`` on begins with fresh moments for each role and drops the shared ones."""
    rows, trainer = mixed_rows(), tiny()
    await trainer.train(rows, HP)
    assert set(trainer._optimizers.moments()) == {ALL_ROLES}
    await trainer.train(rows, BY_ROLE)
    assert set(trainer._optimizers.moments()) == {"agent", "designer"}
    await trainer.train([], BY_ROLE)
    assert set(trainer._optimizers.moments()) == {"agent", "designer"}
    await trainer.train(rows, HP)
    assert set(trainer._optimizers.moments()) == {ALL_ROLES}


async def test_fit_takes_one_step_over_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = tiny()
    steps: list[Any] = record_steps(trainer, monkeypatch)
    metrics = await trainer.fit(mixed_rows(), BY_ROLE)
    assert [step.role for step in steps] == [ALL_ROLES]
    assert "kl_to_start" not in metrics
