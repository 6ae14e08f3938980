"""Schedules of the learning rate, and which rows each optimiser step takes."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from spadework.config.files import load_config, parse_config
from spadework.errors import ConfigError
from spadework.policies.base import Hyperparameters, RoleStep
from spadework.policies.hyperparameters import ALL_ROLES, hyperparameters, learning_rate_factor, plan_steps
from spadework.types import Role, TrainingRow

BOTH = (RoleStep("agent", 1e-6), RoleStep("designer", 2e-6, kl_coef=0.1))


def update(**settings: Any) -> Any:
    return parse_config({"update": settings}, "test").update


def row(role: Role, number: int, advantage: float = 1.0) -> TrainingRow:
    return TrainingRow((1, 2), (False, True), (0.0, -1.0), (0.0, advantage), role, "group", str(number), 0)


def names(steps: Any) -> list[tuple[str, list[str]]]:
    return [(each.step.role, [one.source_id for one in each.rows]) for each in steps]


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("constant", [0.5, 1, 1, 1, 1, 1]),
        ("linear", [0.5, 1, 1, 0.75, 0.5, 0.25]),
        ("cosine", [0.5, 1, 1, (1 + math.sqrt(0.5)) / 2, 0.5, (1 - math.sqrt(0.5)) / 2]),
    ],
)
def test_the_learning_rate_rises_and_then_follows_its_schedule(schedule: str, expected: list[float]) -> None:
    settings = update(schedule=schedule, warmup_steps=2)
    assert [learning_rate_factor(settings, cycle, 6) for cycle in range(6)] == pytest.approx(expected)


def test_a_warm_up_may_be_as_long_as_the_run() -> None:
    settings = update(schedule="linear", warmup_steps=6)
    assert [learning_rate_factor(settings, cycle, 3) for cycle in range(3)] == pytest.approx([1 / 6, 2 / 6, 3 / 6])


def test_a_roles_own_settings_replace_the_common_ones_and_follow_the_schedule() -> None:
    settings = update(by_role=True, lr=1e-5, kl_coef=0.2, schedule="linear", roles={"designer": {"lr": 4e-5}})
    found = hyperparameters(settings, 5, 10)
    assert found.role_steps == (RoleStep("agent", 5e-6, 0.2), RoleStep("designer", 2e-5, 0.2))
    assert hyperparameters(update(), 5, 10).role_steps == ()


def test_a_roles_settings_need_a_step_of_its_own() -> None:
    with pytest.raises(ConfigError, match=r"update.*by_role = true"):
        update(roles={"designer": {"lr": 1e-5}})
    with pytest.raises(ConfigError, match=r"update\.roles\.critic"):
        update(by_role=True, roles={"critic": {"lr": 1e-5}})
    config = load_config("laptop", ["update.by_role=true", "update.roles.designer.lr=3e-5"])
    assert config.update.role_settings()["designer"][0] == 3e-5


def test_one_step_takes_all_rows_and_mini_batches_are_dealt() -> None:
    batch = [row("agent", 0), row("designer", 1), row("agent", 2), row("agent", 3, 0.0)]
    assert names(plan_steps(batch, Hyperparameters())) == [(ALL_ROLES, ["0", "1", "2"])]
    dealt = plan_steps(batch, Hyperparameters(minibatches=2))
    assert names(dealt) == [(ALL_ROLES, ["0", "2"]), (ALL_ROLES, ["1"])]


def test_each_role_takes_its_own_rows_and_a_role_without_rows_no_step() -> None:
    batch = [row("designer", 0), row("agent", 1), row("designer", 2)]
    hp = Hyperparameters(role_steps=BOTH)
    assert names(plan_steps(batch, hp)) == [("agent", ["1"]), ("designer", ["0", "2"])]
    assert names(plan_steps(batch[:1], hp)) == [("designer", ["0"])]


def test_rows_without_an_advantage_are_for_a_step_with_a_kl_term_alone() -> None:
    batch = [row("designer", 0, 0.0), row("agent", 1, 0.0)]
    hp = Hyperparameters(role_steps=BOTH, kl_rows="all")
    assert names(plan_steps(batch, hp)) == [("designer", ["0"])]
    assert names(plan_steps(batch, dataclasses.replace(hp, entropy_coef=0.1))) == [
        ("agent", ["1"]),
        ("designer", ["0"]),
    ]
    assert names(plan_steps(batch, dataclasses.replace(hp, kl_rows="trained"))) == []


def test_a_row_of_a_role_without_a_step_is_an_error() -> None:
    with pytest.raises(ValueError, match="'designer'"):
        list(plan_steps([row("designer", 0)], Hyperparameters(role_steps=BOTH[:1])))
